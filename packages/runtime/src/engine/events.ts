import type { RunRow } from './journal/run.ts';

/** An event as whoever waited for it is given it. */
export interface SentEvent<T = unknown> {
  /** What its sender called it, or one of the box. */
  id: string;
  name: string;
  payload: T;
  /** When it was accepted: ISO 8601. */
  sentAt: string;
}

/** An event that was accepted: it reaches whoever waited for it at that time. */
export interface EventReceipt {
  id: string;
  name: string;
  /** The run that delivers it; null: it waits for the event of its sender and name before it. */
  runId: string | null;
  /** Of one that waits, or has waited. */
  triggerId: string | null;
}

/** An event that code sends. */
export interface EventRequest {
  name: string;
  payload: unknown;
  id: string;
  by: RunRow;
}

/** Of an encoded `match`. */
export const MOST_MATCH = 4_096;

export const EVENT_RULE = 'It begins with a letter and has up to 100 letters, digits and . _ -';

export function isEventName(name: unknown): name is string {
  return typeof name === 'string' && /^[a-z][\w.-]{0,99}$/i.test(name);
}

/** What the tokens of all begin with that wait for events of the name: no other name's do. */
export function toEventScope(name: string): string {
  return `event:${name}:`;
}

/** Whether the payload has all that is asked for. */
export function isMatch(wanted: unknown, given: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return Object.is(wanted, given);
  if (typeof given !== 'object' || given === null || Array.isArray(wanted) !== Array.isArray(given)) return false;
  if (wanted instanceof Date) return given instanceof Date && wanted.getTime() === given.getTime();
  if (Array.isArray(wanted) && wanted.length !== (given as unknown[]).length) return false;
  // Its members are no properties, so none would be compared.
  if (wanted instanceof Map || wanted instanceof Set) return false;
  return Object.entries(wanted).every(
    ([name, value]) => Object.hasOwn(given, name) && isMatch(value, (given as Record<string, unknown>)[name]),
  );
}
