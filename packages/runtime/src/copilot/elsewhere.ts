import type { Caller } from '../auth/caller.ts';
import type { Journal } from '../engine/journal.ts';
import { isFinal } from '../engine/journal/run.ts';
import { BoxError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import type { Rooms } from '../surface/rooms.ts';

/** What a call is looked for with. */
export interface Looking {
  /** As its caller sees them. */
  rooms: Rooms;
  caller: Caller;
  journal: Pick<Journal, 'getRun'>;
  input: Record<string, unknown>;
}

/**
 * How it is known of a call that had begun whether it has come about. A function: whether all is as the call leaves it.
 * `again`: it is called again, which changes nothing that has been changed. `unknown`: it is not known.
 */
export type Settles = 'again' | 'unknown' | ((looking: Looking) => Promise<boolean>);

/** The writes that do not begin with a change in the box's database, which a mark could be committed with. */
export const ELSEWHERE: Readonly<Record<string, Settles>> = {
  'runs.cancel': isCancelled,
  'runs.delete': async ({ journal, input }) => !(await journal.getRun(String(input['id']))),
  'runs.pause': 'again',
  'runs.resume': async ({ journal, input }) => {
    const run = await journal.getRun(String(input['id']));
    return run !== undefined && run.pausedAt === null && run.status !== 'blocked';
  },
  'runs.retry': 'again',
  // What they have reached they do not reach twice; which of many that is, no one row says.
  'runs.cancel_all': 'unknown',
  'runs.retry_all': 'unknown',
  'runs.delete_all': 'unknown',
  'sessions.delete': ({ rooms, input }) =>
    isGone('session_not_found', () => rooms.sessions.idOf(String(input['id']), input['agent'] as string | undefined)),
  'approvals.decide': 'again',
  'workflows.start': 'again',
  'workflows.dequeue': ({ rooms, caller, input: { name, triggerId } }) =>
    isGone('trigger_not_found', () => rooms.workflows.findQueued(String(name), String(triggerId), caller)),
  'jobs.update': 'again',
  'jobs.run': 'unknown',
  'jobs.delete': async ({ rooms, input }) => !(await rooms.jobs.find(String(input['id']))),
  'notify.redeliver': 'unknown',
  // Kept by the host, and of the key nothing is shown that could be compared.
  'provider.set': 'unknown',
  'provider.delete': 'unknown',
  'evals.runs.cancel': isCancelled,
};

// --- internal ---

async function isGone(code: ErrorCode, find: () => Promise<unknown>): Promise<boolean> {
  try {
    await find();
    return false;
  } catch (error) {
    if (error instanceof BoxError && error.code === code) return true;
    throw error;
  }
}

async function isCancelled({ journal, input }: Looking): Promise<boolean> {
  const run = await journal.getRun(String(input['id']));
  return run !== undefined && (isFinal(run.status) ? run.status === 'cancelled' : run.cancel !== null);
}
