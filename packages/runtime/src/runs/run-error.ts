import { z } from 'zod';
import { decode } from '../engine/serialize.ts';
import { toJsonValue } from './json-value.ts';

/** What ended a run or a step, as every surface shows it. */
export const RunError = z.object({
  code: z.string().describe('`run_failed` where the error has none of its own'),
  name: z.string(),
  message: z.string(),
  stack: z.string().nullable(),
  cause: z
    .unknown()
    .describe('The error that caused it, with these fields again, or the value that was thrown; or null'),
  errors: z.array(z.unknown()).optional().describe('Of an AggregateError'),
  details: z.record(z.string(), z.unknown()).optional().describe('What else its thrower put on it'),
});
export type RunError = z.infer<typeof RunError>;

/** `text`: the error as the journal has it. */
export function toRunError(text: string | null): RunError | null {
  return text === null ? null : toView(decode(text) as Error);
}

// --- internal ---

const KNOWN = new Set(['name', 'message', 'stack', 'cause', 'errors', 'code', 'fatal']);

function toView(error: Error): RunError {
  const { code } = error as { code?: unknown };
  const details = Object.entries(error).filter(([key]) => !KNOWN.has(key));
  return {
    code: typeof code === 'string' ? code : 'run_failed',
    name: error.name,
    message: error.message,
    stack: error.stack ?? null,
    cause: toInner(error.cause),
    ...(error instanceof AggregateError ? { errors: error.errors.map(toInner) } : {}),
    ...(details.length > 0
      ? { details: Object.fromEntries(details.map(([key, value]) => [key, toInner(value)])) }
      : {}),
  };
}

/** The codec ends a chain that leads back to itself. */
function toInner(value: unknown): unknown {
  return value instanceof Error ? toView(value) : toJsonValue(value);
}
