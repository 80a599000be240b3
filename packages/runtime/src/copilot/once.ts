import type { Caller } from '../auth/caller.ts';
import type { ToolContext } from '../definitions/agent.ts';
import { currentContext } from '../engine/context.ts';
import type { Journal } from '../engine/journal.ts';
import { BoxError } from '../errors.ts';
import type { Input } from '../mcp/confirmations.ts';
import type { Operation } from '../operations/define.ts';
import type { UsedOnce } from '../stores/used-once.ts';
import { createWriteMark } from '../stores/write-mark.ts';
import { callOperation, checkCall } from '../surface/call.ts';
import type { Rooms } from '../surface/rooms.ts';
import { roomsSeenBy } from '../surface/seen.ts';
import { ELSEWHERE } from './elsewhere.ts';
import type { Looking } from './elsewhere.ts';

export interface OnceOptions {
  rooms(): Rooms;
  used: UsedOnce;
  journal: Pick<Journal, 'getRun'>;
}

/** A write of a person's turn. */
export interface Write {
  op: Operation;
  input: Input;
  caller: Caller;
  context: ToolContext;
}

/** What has become of a write that had begun when its process ended. */
export type Outcome =
  /** `answer`: what it answered, where that is known. */
  | { ran: true; answer?: unknown }
  | { ran: false }
  /** It had begun. Whether it has done anything, or all of it, is not known. */
  | { ran: 'unknown' };

/** Writes that run at most once, whatever becomes of the process, and of which it is known whether they did. */
export interface Once {
  /** False: it had begun before, on whatever replica. */
  begin(context: ToolContext): Promise<boolean>;
  call(write: Write): Promise<unknown>;
  /** Of one that had begun before. What had not run by then does not run any more. */
  settle(write: Write): Promise<Outcome>;
}

export function createOnce({ rooms, used, journal }: OnceOptions): Once {
  const call = ({ op, input, caller, context }: Write) =>
    callOperation(op, rooms(), withKey(op, input, context), {
      caller,
      signal: context.signal,
      source: 'copilot',
      requestId: context.idempotencyKey,
    });
  const toLooking = ({ input, caller }: Write): Looking => ({
    rooms: roomsSeenBy(rooms(), caller),
    caller,
    journal,
    input,
  });
  return {
    begin: ({ idempotencyKey }) => used.use(`call ${idempotencyKey}`, REMEMBER_MS),
    async call(write) {
      const { op, caller, context } = write;
      const settles = ELSEWHERE[op.id];
      if (settles === undefined) return marking(toMark(context), () => call(write));
      await checkCall(op, rooms(), { caller, source: 'copilot' });
      // Nothing is left to be done: what the call answers to that is no matter of it having run.
      if (typeof settles === 'function' && (await settles(toLooking(write)))) return call(write);
      if (!(await used.use(toMark(context), REMEMBER_MS))) throw interrupted(op.id, { ran: false });
      return call(write);
    },
    async settle(write) {
      const { op, caller, context } = write;
      await checkCall(op, rooms(), { caller, source: 'copilot' });
      const noted = await findNoted(rooms(), write);
      if (noted) return noted;
      // Whoever made the call and is still there cannot begin it after this.
      if (await used.use(toMark(context), REMEMBER_MS)) return { ran: false };
      const settles = ELSEWHERE[op.id];
      if (settles === undefined) return { ran: true };
      if (settles === 'unknown') return { ran: 'unknown' };
      if (settles === 'again') return isRecent() ? { ran: true, answer: await call(write) } : { ran: 'unknown' };
      return { ran: await settles(toLooking(write)) };
    },
  };
}

/** What a model is told of a write that it cannot be told the answer of. */
export function interrupted(operation: string, { ran }: Exclude<Outcome, { ran: true }>): BoxError {
  const known = ran ? 'It had begun and may have run, or in part: look first' : 'It did not run: call it again';
  const message = `The box was restarted while "${operation}" was called. ${known}.`;
  return new BoxError('call_interrupted', message, { details: { operation, ran } });
}

// --- internal ---

/** As long as a box may stay away that goes on with what it was doing. */
const REMEMBER_MS = 30 * 24 * 3_600_000;
/** A start is known by its key for a day. */
const AGAIN_MS = 23 * 3_600_000;
/** Of the newest changes, those among which a call is looked for that had begun before. */
const LOOKED_AT = 200;

const toMark = ({ idempotencyKey }: ToolContext): string => `ran ${idempotencyKey}`;

/** What can be called with a key is: called again, it answers the same. */
function withKey({ headers }: Operation, input: Input, { idempotencyKey }: ToolContext): Input {
  const name = headers?.['idempotency-key'];
  return name === undefined ? input : { [name]: `copilot ${idempotencyKey}`, ...input };
}

function isRecent(): boolean {
  const step = currentContext();
  return step?.kind === 'step' && step.startedAt - step.firstStartedAt < AGAIN_MS;
}

async function marking<T>(value: string, work: () => Promise<T>): Promise<T> {
  const step = currentContext();
  if (step?.kind !== 'step') throw new Error('A write of the copilot is made in a step of its turn.');
  const mark = createWriteMark(value, REMEMBER_MS);
  step.mark = mark;
  try {
    return await work();
  } finally {
    // What goes on behind the answer changes nothing for the call.
    mark.state = 'left';
  }
}

/** The activity log has what it answered. */
async function findNoted(rooms: Rooms, { op, caller, context }: Write): Promise<Outcome | undefined> {
  const filter = { operation: op.id, actor: caller.id };
  const { items } = await rooms.activity.list(filter, { limit: LOOKED_AT }, caller);
  const noted = items.find(({ requestId }) => requestId === context.idempotencyKey);
  return noted && { ran: true, answer: (await rooms.activity.get(noted.id, caller)).after };
}
