import { ASKED_BY } from '../engine/box-marks.ts';
import { z } from 'zod';
import type { LogLevel, LogRecord } from '../log.ts';

/** In `fields`: the application, and the user, on whose behalf the run was started. */
export const CLIENT = 'svc.client';
export const USER = 'svc.user';
const MARKS = [ASKED_BY, CLIENT, USER];

export const LogLevelName = z.enum(['debug', 'info', 'warn', 'error']);

/** A log record that is kept. */
export const LogEntry = z.object({
  id: z.number().int().describe('Counts up in the order in which records are stored'),
  at: z.iso.datetime(),
  level: LogLevelName,
  message: z.string(),
  runId: z.string().nullable(),
  sessionId: z.string().nullable(),
  name: z.string().nullable().describe('The agent or workflow'),
  step: z.string().nullable().describe('The step or tool'),
  requestId: z.string().nullable(),
  fields: z.record(z.string(), z.unknown()).nullable(),
});
export type LogEntry = z.infer<typeof LogEntry>;

/** One that is about to be stored: cut to size, in text that every store takes. */
export interface NewLogEntry extends Omit<LogEntry, 'id' | 'fields'> {
  /** As JSON. */
  fields: string | null;
}

/** As the table has them, so that "and above" is a comparison. */
export const LEVEL_NUMBERS: Record<LogLevel, number> = { debug: 10, info: 20, warn: 30, error: 40 };

export function toLevelName(number: number): LogLevel {
  return LogLevelName.options.find((name) => LEVEL_NUMBERS[name] >= number) ?? 'error';
}

/** A record of the log, which has no secrets any more. What is no column of its own goes into `fields`. */
export function toNewEntry(record: LogRecord): NewLogEntry {
  // The tenant is the same in every record of one box.
  const { time, level, message, runId, sessionId, name, step, requestId, fields, tenant: _, ...rest } = record;
  const isOfRun = isId(runId);
  const others = {
    ...(isOfRun || runId === undefined ? {} : { runId }),
    ...(isId(sessionId) || sessionId === undefined ? {} : { sessionId }),
    // Without a run it may be the name of anything.
    ...(isOfRun || name === undefined ? {} : { name }),
    ...rest,
    ...(isPlainObject(fields) ? fields : fields === undefined ? {} : { fields }),
  };
  return {
    at: time,
    level,
    message: toText(message).slice(0, MAX_MESSAGE),
    runId: isOfRun ? runId : null,
    sessionId: isId(sessionId) ? sessionId : null,
    name: isOfRun ? toTextOrNull(name) : null,
    step: toTextOrNull(step),
    requestId: toTextOrNull(requestId),
    fields: toJson(others, marksOf(rest)),
  };
}

/** Bytes it takes while it waits, roughly. */
export function sizeOf({ message, fields }: NewLogEntry): number {
  return OVERHEAD + 2 * (message.length + (fields?.length ?? 0));
}

// --- internal ---

function marksOf(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(MARKS.flatMap((mark) => (record[mark] === undefined ? [] : [[mark, record[mark]]])));
}

const MAX_MESSAGE = 8_192;
const MAX_FIELDS = 32_768;
const OVERHEAD = 400;
const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;
// Postgres takes neither; with the u flag `\p{Cs}` finds lone surrogates alone.
const UNSTORABLE = /[\0\p{Cs}]/gu;
/** The same as JSON writes them, and escaped backslashes, which may stand before the letter u. */
const UNSTORABLE_JSON = /\\\\|\\u(?:0000|d[89a-f][\da-f]{2})/g;

function isId(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value);
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toText(value: unknown): string {
  return String(value).replace(UNSTORABLE, '\ufffd');
}

function toTextOrNull(value: unknown): string | null {
  return value === undefined || value === null ? null : toText(value);
}

/** `marks` are the box's to set, and never cut off. */
function toJson(fields: object, marks: object): string | null {
  const text = JSON.stringify({ ...fields, ...marks });
  if (text === '{}') return null;
  if (text.length > MAX_FIELDS) return JSON.stringify({ truncated: true, bytes: text.length, ...marks });
  return text.replace(UNSTORABLE_JSON, (found) => (found === '\\\\' ? found : '\\ufffd'));
}
