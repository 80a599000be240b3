import { toJsonValue } from '../../json-value.ts';
import { failed, withinLimit } from './tool-answer.ts';
import type { ToolAnswer } from './recorded-answer.ts';

/** What the model is sent of a value a tool answered. Half of an emoji is U+FFFD: providers refuse what is no Unicode. */
export function toResult(name: string, value: unknown): ToolAnswer {
  return withinLimit(name, { content: toText(value).toWellFormed(), isError: false });
}

/** What the model is sent of what a tool threw: anything can be thrown. */
export function toFailure(name: string, thrown: unknown): ToolAnswer {
  return withinLimit(name, failed(`The tool "${name}" failed: ${describe(thrown)}`.toWellFormed()));
}

// --- internal ---

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
