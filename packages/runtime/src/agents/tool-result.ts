import { DEFAULT_LIMITS } from '../engine/limits.ts';
import { toJsonValue } from '../runs/json-value.ts';
import { failed } from './tool-answer.ts';
import type { ToolAnswer } from './tool-answer.ts';

/** What the model is told of a value a tool answered. Half of an emoji is U+FFFD: providers refuse what is no Unicode. */
export function toResult(name: string, value: unknown): ToolAnswer {
  return withinLimit(name, { content: toText(value).toWellFormed(), isError: false });
}

/** What the model is told of what a tool threw: anything can be thrown. */
export function toFailure(name: string, thrown: unknown): ToolAnswer {
  return withinLimit(name, failed(`The tool "${name}" failed: ${describe(thrown)}`.toWellFormed()));
}

// --- internal ---

/** Room for what the record has besides the text. */
const MAX_BYTES = DEFAULT_LIMITS.resultBytes - 1_024;

function withinLimit(name: string, answer: ToolAnswer): ToolAnswer {
  const { content } = answer;
  // As long as it is in a record, where a quote takes two bytes.
  const bytes = Buffer.byteLength(JSON.stringify(content));
  if (bytes <= MAX_BYTES) return answer;
  return failed(
    `The result of "${name}" is too long: ${bytes} bytes, and at most ${MAX_BYTES} are kept. ` +
      'Ask for less: a part of it, a page, a summary.',
  );
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(toJsonValue(value));
}

function describe(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return thrown === undefined ? 'It does not say why.' : toText(thrown);
    return String(thrown.message || thrown.name);
  } catch {
    return 'What it threw cannot be shown.';
  }
}
