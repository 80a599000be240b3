import type { CallToolResult, InputRequiredResult } from '@modelcontextprotocol/server';
import type { BoxError } from '../errors.ts';

export type ToolAnswer = CallToolResult | InputRequiredResult;

/** Characters of a result. A model that gets more loses sight of the rest. */
export const MAX_RESULT = 60_000;

/** What a tool answers: as text for the model, as an object for programs. */
export function toResult(value: unknown): CallToolResult {
  const structured = isObject(value) ? value : { value };
  const text = JSON.stringify(structured);
  return text.length <= MAX_RESULT ? toContent(structured, text) : toCut(text);
}

/** A refusal: a result, so that the model reads what to do. */
export function toErrorResult({
  code,
  message,
  details,
}: Pick<BoxError, 'code' | 'message' | 'details'>): CallToolResult {
  return { ...toResult({ code, message, ...(details === undefined ? {} : { details }) }), isError: true };
}

// --- internal ---

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toContent(structuredContent: Record<string, unknown>, text: string): CallToolResult {
  return { content: [{ type: 'text', text }], structuredContent };
}

function toCut(text: string): CallToolResult {
  const note = `The result has ${text.length} characters; these are the first ${MAX_RESULT}. Ask for less: a filter, a smaller "limit", or one item by its id.`;
  const structured = { truncated: true, characters: text.length, note, text: text.slice(0, MAX_RESULT) };
  return {
    content: [
      { type: 'text', text: note },
      { type: 'text', text: structured.text },
    ],
    structuredContent: structured,
  };
}
