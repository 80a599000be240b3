import { z } from 'zod';
import { decodeToShow } from '../engine/serialize.ts';
import { toJsonValue } from '../json-value.ts';
import { toProjectStack } from './project-stack.ts';

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

/** `text`: the error as the journal holds it. Of its stack, what lies in the project, as it is called there. */
export function toRunError(text: string | null): RunError | null {
  return text === null ? null : toView(decodeToShow(text) as Error);
}

/** Where in the project it was thrown: `workflows/refund.workflow.ts:12`. Undefined: nowhere there. */
export function placeOf({ stack }: Pick<RunError, 'stack'>): string | undefined {
  // Of a stack that is nowhere in the project the names of the files are left: all code of a project is in folders.
  for (const line of (stack ?? '').split('\n')) {
    const place = line.length > LONGEST_FRAME ? undefined : FRAME.exec(line)?.[1];
    if (place !== undefined) return place;
  }
  return undefined;
}

/** As a key is shown it: without where in the code it and what caused it was thrown, and what else was put on them. */
export function withoutInside(error: RunError): RunError {
  const { cause, errors, details: _, ...own } = error;
  return {
    ...own,
    stack: null,
    cause: withoutInner(cause),
    ...(errors ? { errors: errors.map(withoutInner) } : {}),
  };
}

// --- internal ---

const FRAME = /^\s+at (?:.*\()?(?!node:)([^()\s]+\/[^()\s]+:\d+):\d+\)?$/;
/** A longer line is text of a message. */
const LONGEST_FRAME = 1_000;

/** What was thrown as an error has these fields; what was thrown as data may have them by chance, and loses a text. */
function withoutInner(value: unknown): unknown {
  const isError = typeof value === 'object' && value !== null && 'stack' in value && 'message' in value;
  return isError ? withoutInside(value as RunError) : value;
}

const KNOWN = new Set(['name', 'message', 'stack', 'cause', 'errors', 'code', 'fatal']);

function toView(error: Error): RunError {
  const { code } = error as { code?: unknown };
  const details = Object.entries(error).filter(([key]) => !KNOWN.has(key));
  return {
    code: typeof code === 'string' ? code : 'run_failed',
    name: error.name,
    message: error.message,
    stack: error.stack === undefined ? null : toProjectStack(error.stack),
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
