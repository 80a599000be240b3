import { z } from 'zod';
import type { Caller } from '../auth/caller.ts';
import { LONGEST_WAIT_MS, parseDuration } from '../engine/duration.ts';
import type { ClosePolicy } from '../engine/journal/run.ts';
import type { StartHow } from '../engine/handle.ts';
import { BoxError } from '../errors.ts';

const ON_CONFLICT = ['reject', 'join', 'replace'] as const;
const REUSE = ['always', 'after-failure', 'never'] as const;
export const CLOSE_POLICIES = ['abandon', 'cancel', 'wait'] as const satisfies ClosePolicy[];
const MOST_PRIORITY = 1_000;

/** How a caller wants one start, as it is understood. */
export interface StartChoices {
  priority?: number;
  delayMs?: number;
  /** Milliseconds since 1970. */
  at?: number;
  timeoutMs?: number;
  id?: string;
  onConflict?: (typeof ON_CONFLICT)[number];
  reuse?: (typeof REUSE)[number];
}

/** The members of a start's input. Headers carry them as text. */
export const START_MEMBERS = {
  priority: z
    .union([z.int().min(-MOST_PRIORITY).max(MOST_PRIORITY), z.string().regex(/^-?\d{1,4}$/)])
    .optional()
    .describe('Among the starts that wait for the same workflow, higher ones begin first: -1000 to 1000, default 0'),
  delay: z
    .union([z.number(), z.string()])
    .optional()
    .describe('Begins so much later: milliseconds, or text such as "10m"'),
  at: z.string().optional().describe('Begins at this time: ISO 8601 with its offset'),
  timeout: z
    .union([z.number(), z.string()])
    .optional()
    .describe('How long the run may take, in place of what its workflow says: milliseconds, or text such as "1h"'),
  id: z.string().optional().describe('Your own id for the run, within its workflow; at most one unfinished run has it'),
  onConflict: z
    .enum(ON_CONFLICT)
    .optional()
    .describe('When an unfinished run has the id: 409, its receipt, or the new run in its place; default reject'),
  reuse: z.enum(REUSE).optional().describe('Whether a run that has ended leaves its id to another; default always'),
};

/** The headers that carry them. */
export const START_HEADERS = {
  'x-svc-priority': 'priority',
  'x-svc-delay': 'delay',
  'x-svc-at': 'at',
  'x-svc-timeout': 'timeout',
  'x-svc-id': 'id',
  'x-svc-on-conflict': 'onConflict',
  'x-svc-reuse': 'reuse',
} as const;

/** Throws `invalid_request` naming what it cannot be. */
export function readStartHow(how: StartHow): StartChoices {
  const { priority, delay, at, timeout, id, onConflict, reuse } = how;
  if (delay !== undefined && at !== undefined)
    throw invalid('A start takes "delay" or "at", and this one has both. Leave one of them.');
  if (id === undefined && (onConflict !== undefined || reuse !== undefined))
    throw invalid('"onConflict" and "reuse" are about an id. Give one with "id", or leave them.');
  return {
    ...(priority === undefined ? {} : { priority: toPriority(priority) }),
    ...(delay === undefined ? {} : { delayMs: toDelay(delay) }),
    ...(at === undefined ? {} : { at: toTime(at) }),
    ...(timeout === undefined ? {} : { timeoutMs: toTimeout(timeout) }),
    ...(id === undefined ? {} : { id: toId(id) }),
    ...(onConflict === undefined ? {} : { onConflict: toOneOf('onConflict', onConflict, ON_CONFLICT) }),
    ...(reuse === undefined ? {} : { reuse: toOneOf('reuse', reuse, REUSE) }),
  };
}

/** Throws `invalid_request` where there is no such policy. */
export function toClosePolicy(policy: unknown): ClosePolicy | undefined {
  return policy === undefined ? undefined : toOneOf('parentClosePolicy', policy, CLOSE_POLICIES);
}

/** What a start that a caller asks for is put down to. */
export function triggerOf({ via }: Pick<Caller, 'via'>): 'api' | 'copilot' {
  return via === 'copilot' ? 'copilot' : 'api';
}

// --- internal ---

const MOST_ID = 200;

function toPriority(priority: unknown): number {
  const value = Number(priority);
  if (Number.isInteger(value) && Math.abs(value) <= MOST_PRIORITY) return value;
  throw invalid(
    `"${String(priority)}" is no priority. It is a whole number from -${MOST_PRIORITY} to ${MOST_PRIORITY}.`,
  );
}

function toDelay(delay: number | string): number {
  const ms = toMs(delay);
  if (ms !== undefined) return ms;
  throw invalid(`"${delay}" is no delay. Use milliseconds, or text such as "10m" or "2 days", of up to 100 years.`);
}

function toTimeout(timeout: number | string): number {
  const ms = toMs(timeout);
  if (ms !== undefined && ms > 0) return ms;
  throw invalid(
    `"${timeout}" is no timeout. Use milliseconds above 0, or text such as "30m" or "2 days", of up to 100 years.`,
  );
}

/** Undefined: it is no duration, or too long. */
function toMs(given: number | string): number | undefined {
  const isCount = typeof given === 'string' && /^\d+$/.test(given);
  try {
    const ms = Math.ceil(parseDuration(isCount ? Number(given) : given));
    return ms <= LONGEST_WAIT_MS ? ms : undefined;
  } catch {
    return undefined;
  }
}

function toTime(at: Date | string): number {
  const isIso = at instanceof Date || /^\d{4}-\d\d-\d\dT\d\d:\d\d.*(?:Z|[+-]\d\d:?\d\d)$/i.test(at);
  const time = isIso ? new Date(at).getTime() : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw invalid(`"${String(at)}" is no time. Use a Date, or ISO 8601 with its offset: "2030-01-31T09:00:00Z".`);
}

function toId(id: unknown): string {
  if (typeof id === 'string' && id.length >= 1 && id.length <= MOST_ID) return id;
  throw invalid(`The id of a run is text of 1 to ${MOST_ID} characters.`);
}

function toOneOf<T extends string>(name: string, value: unknown, known: readonly T[]): T {
  const found = known.find((each) => each === value);
  if (found !== undefined) return found;
  throw invalid(`"${name}" is one of ${known.map((each) => `"${each}"`).join(', ')}, not "${String(value)}".`);
}

function invalid(message: string): BoxError {
  return new BoxError('invalid_request', message);
}
