import { BoxError } from '../errors.ts';
import type { SqlSession } from './client.ts';

/** What the first change that a call makes is committed with: there is the mark, or nothing of the call. */
export interface WriteMark {
  /** Used once. Where it is used already, the change is refused. */
  readonly value: string;
  readonly ttlMs: number;
  /** `leaving`: by a transaction that has not ended. */
  state: 'due' | 'leaving' | 'left';
}

/** A transaction under the mark. */
export interface Marking {
  readonly mark: WriteMark;
  /** It was this one that has left the mark. */
  hasLeft: boolean;
}

export function createWriteMark(value: string, ttlMs: number): WriteMark {
  return { value, ttlMs, state: 'due' };
}

/** Whether it has to be left with this statement, if that changes something. */
export function isDue({ state }: WriteMark, text: string): boolean {
  return state === 'due' && WRITE.test(text);
}

/** In the transaction of the statement, behind it: what has changed no row has left none. Throws `call_interrupted`. */
export async function leaveMark(session: SqlSession, marking: Marking): Promise<void> {
  const { mark } = marking;
  const [found] = await session.query<{ changed: boolean }>(HAS_CHANGED);
  // Asked first: another statement of the call may have left it meanwhile.
  if (!found?.changed || mark.state !== 'due') return;
  mark.state = 'leaving';
  marking.hasLeft = true;
  const rows = await session.query(INSERT, [mark.value, new Date(Date.now() + mark.ttlMs).toISOString()]);
  if (rows.length > 0) return;
  throw new BoxError('call_interrupted', 'The call was considered lost, and was reported as not run.');
}

/** What has not been committed has left no mark. */
export async function markedBy<T>(mark: WriteMark, work: (marking: Marking) => Promise<T>): Promise<T> {
  const marking = { mark, hasLeft: false };
  try {
    const value = await work(marking);
    if (marking.hasLeft) mark.state = 'left';
    return value;
  } catch (error) {
    takeBack(marking, false);
    throw error;
  }
}

/** Of a part that was rolled back. @param before whether it had been left by then */
export function takeBack(marking: Marking, before: boolean): void {
  if (!marking.hasLeft || before) return;
  marking.hasLeft = false;
  marking.mark.state = 'due';
}

// --- internal ---

const WRITE = /^\s*(?:insert|update|delete|merge)\b|^\s*with\b.*\b(?:insert into|delete from|update \S+ set)\b/is;

/** A transaction gets an id with its first change, or its first lock of a row. */
const HAS_CHANGED = 'select pg_current_xact_id_if_assigned() is not null as "changed"';

/** The purpose is that of the confirmations, which the calls are made by. */
const INSERT = `insert into "svc"."used_once" ("purpose", "value", "expires_at") values ('confirmation', $1, $2)
  on conflict do nothing returning "value"`;
