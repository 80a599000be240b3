import { nextFire } from './cron.ts';
import type { WorkflowEntry } from '../manifest.ts';

/** What happens to a start while the lock is held. */
export type ConflictPolicy = 'queue' | 'reject' | 'replace' | 'join';

export interface SerialPolicy {
  /** The part of the lock's name an input chooses; undefined: one lock for the workflow. */
  key?: (input: unknown) => unknown;
  onConflict: ConflictPolicy;
}

/** A timer a workflow declares, as the author wrote it. */
export interface ScheduleDeclaration {
  /** What the timer is called: with a name it stays the same one when anything else of it changes. */
  name?: string;
  /** Five fields: minute, hour, day of the month, month, day of the week. */
  cron: string;
  /** An IANA name. Default: UTC. */
  timeZone?: string;
  /** Default `{}`. */
  input?: unknown;
}

const POLICIES: ReadonlySet<unknown> = new Set(['queue', 'reject', 'replace', 'join']);

/** Reads `export const serial`. Throws a sentence that says what it may be. */
export function toSerialPolicy(entry: WorkflowEntry, serial: unknown): SerialPolicy {
  if (serial === true) return { onConflict: 'queue' };
  const { key, onConflict = 'queue' } = (serial ?? {}) as Partial<SerialPolicy>;
  const isPolicy =
    typeof serial === 'object' &&
    serial !== null &&
    POLICIES.has(onConflict) &&
    (key === undefined || typeof key === 'function');
  if (!isPolicy)
    throw new Error(
      `"serial" of "${entry.file}" must be true, or { key?: (input) => string, onConflict?: 'queue' | 'reject' | 'replace' | 'join' }.`,
    );
  return { onConflict, ...(key ? { key } : {}) };
}

/** Reads `export const schedules`. Throws a sentence that names what is wrong. */
export function toSchedules(entry: WorkflowEntry, schedules: unknown): ScheduleDeclaration[] {
  if (schedules === undefined) return [];
  const isList =
    Array.isArray(schedules) &&
    schedules.every((item) => typeof (item as ScheduleDeclaration | null)?.cron === 'string');
  if (!isList)
    throw new Error(`"schedules" of "${entry.file}" must be an array of { cron, timeZone?, input?, name? }.`);
  checkNames(entry, schedules as ScheduleDeclaration[]);
  for (const { cron, timeZone } of schedules as ScheduleDeclaration[]) nextFire(cron, timeZone ?? null, Date.now());
  return schedules as ScheduleDeclaration[];
}

// --- internal ---

/** Numbers are what those without a name are called by. */
const NAME = /^[a-z][\w.-]{0,99}$/i;

function checkNames(entry: WorkflowEntry, schedules: ScheduleDeclaration[]): void {
  const names = schedules.flatMap(({ name }) => (name === undefined ? [] : [name]));
  const wrong = names.find(
    (name, index) => typeof name !== 'string' || !NAME.test(name) || names.indexOf(name) < index,
  );
  if (wrong === undefined) return;
  const reason = 'A name begins with a letter, has up to 100 letters, digits and . _ -, and is there once.';
  throw new Error(`"schedules" of "${entry.file}" cannot have the name "${wrong}". ${reason}`);
}
