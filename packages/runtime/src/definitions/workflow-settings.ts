import { nextFire } from './cron.ts';
import type { Problem, WorkflowEntry } from '../manifest.ts';

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
  if (!isList) {
    const index = Array.isArray(schedules) ? schedules.findIndex((item) => typeof Object(item).cron !== 'string') : 0;
    throw placed(
      new Error(`"schedules" of "${entry.file}" must be an array of { cron, timeZone?, input?, name? }.`),
      entry,
      index,
    );
  }
  checkNames(entry, schedules as ScheduleDeclaration[]);
  for (const [index, { cron, timeZone }] of (schedules as ScheduleDeclaration[]).entries()) {
    try {
      nextFire(cron, timeZone ?? null, Date.now());
    } catch (error) {
      throw placed(error as Error, entry, index);
    }
  }
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
  const at = schedules.findLastIndex(({ name }) => name === wrong);
  const reason = 'A name begins with a letter, has up to 100 letters, digits and . _ -, and is there once.';
  throw placed(new Error(`"schedules" of "${entry.file}" cannot have the name "${wrong}". ${reason}`), entry, at);
}

/** With the place of that schedule, where its file has it. */
function placed(error: Error, { file, schedulePlaces = [] }: WorkflowEntry, index: number): Error {
  const place = schedulePlaces[index] ?? schedulePlaces[0];
  if (!place) return error;
  const problem: Problem = { code: 'module_load_failed', message: error.message, file, ...place, frame: '' };
  return Object.assign(error, { problem });
}
