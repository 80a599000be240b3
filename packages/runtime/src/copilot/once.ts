import type { Caller } from '../auth/caller.ts';
import type { ToolContext } from '../definitions/agent.ts';
import { currentContext } from '../engine/context.ts';
import { BoxError } from '../errors.ts';
import type { Input } from '../mcp/confirmations.ts';
import type { Operation, Reached } from '../operations/define.ts';
import type { UsedOnce } from '../stores/used-once.ts';
import { createWriteMark } from '../stores/write-mark.ts';
import { callOperation, checkCall, parseInput } from '../surface/call.ts';
import type { Rooms } from '../surface/rooms.ts';
import { roomsSeenBy } from '../surface/seen.ts';

export interface OnceOptions {
  rooms(): Rooms;
  used: UsedOnce;
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
  { ran: true; answer?: unknown } | { ran: false } | ({ ran: 'in part' } & Reached);

/** Writes that run at most once, whatever becomes of the process, and of which it is known whether they did. */
export interface Once {
  /** False: it had begun before, on whatever replica. */
  begin(context: ToolContext): Promise<boolean>;
  call(write: Write): Promise<unknown>;
  /** Of one that had begun before. What had not run by then does not run any more. */
  settle(write: Write): Promise<Outcome>;
}

export function createOnce({ rooms, used }: OnceOptions): Once {
  const leaveMark = async ({ op, context }: Write, what?: unknown): Promise<void> => {
    const content = what === undefined ? undefined : JSON.stringify(what);
    if (!(await used.use(toMark(context), REMEMBER_MS, content))) throw interrupted(op.id);
  };
  const call = (write: Write) => {
    const { op, input, caller, context } = write;
    return callOperation(op, rooms(), withKey(op, input, context), {
      caller,
      signal: context.signal,
      source: 'copilot',
      requestId: context.idempotencyKey,
      ...(isOfBegun(op) ? { begin: (what) => leaveMark(write, what) } : {}),
    });
  };
  const seenBy = (caller: Caller) => roomsSeenBy(rooms(), caller);
  return {
    begin: ({ idempotencyKey }) => used.use(`call ${idempotencyKey}`, REMEMBER_MS),
    async call(write) {
      const { op, input, caller, context } = write;
      const { settles } = op;
      if (settles === undefined) return marking(toMark(context), () => call(write));
      // Its handler leaves the mark.
      if (isOfBegun(op)) return call(write);
      await checkCall(op, rooms(), { caller, source: 'copilot' });
      const parsed = await parseInput(op, input);
      // Nothing is left to be done: what the call answers to that is no matter of it having run.
      if (hasLook(settles) && (await settles.isDone(seenBy(caller), parsed, caller))) return call(write);
      await leaveMark(write);
      return call(write);
    },
    async settle(write) {
      const { op, input, caller, context } = write;
      await checkCall(op, rooms(), { caller, source: 'copilot' });
      const noted = await findNoted(rooms(), write);
      if (noted) return noted;
      const mark = toMark(context);
      // Whoever made the call and is still there cannot begin it after this.
      if (await used.use(mark, REMEMBER_MS, LOOKED)) return { ran: false };
      const content = await used.read(mark);
      if (content === LOOKED) return { ran: false };
      const { settles } = op;
      if (settles === undefined) return { ran: true };
      if (settles === 'again') return { ran: true, answer: await call(write) };
      const parsed = await parseInput(op, input);
      if (hasLook(settles)) return { ran: await settles.isDone(seenBy(caller), parsed, caller) };
      const reached = await settles.begun(seenBy(caller), JSON.parse(content ?? 'null'), parsed);
      if (reached.done === 0) return { ran: false };
      return reached.done === reached.of ? { ran: true } : { ran: 'in part', ...reached };
    },
  };
}

/** What a model reads about a write that did not run. */
export function interrupted(operation: string): BoxError {
  const message = `The box was restarted while "${operation}" was called. It did not run: call it again.`;
  return new BoxError('call_interrupted', message, { details: { operation, ran: false } });
}

// --- internal ---

/** As long as a box may stay away that goes on with what it was doing. */
const REMEMBER_MS = 30 * 24 * 3_600_000;
/** Of the newest changes, those among which a call is looked for that had begun before. */
const LOOKED_AT = 200;

/** What the mark is used up with by who looks, and is killed in turn before it has said that nothing ran. */
const LOOKED = 'looked for';

type Settles = NonNullable<Operation['settles']>;
type Look = Extract<Settles, { isDone: unknown }>;

const hasLook = (settles: Settles): settles is Look => typeof settles === 'object' && 'isDone' in settles;
const isOfBegun = ({ settles }: Operation): boolean => typeof settles === 'object' && 'begun' in settles;
const toMark = ({ idempotencyKey }: ToolContext): string => `ran ${idempotencyKey}`;

/** What can be called with a key is: called again, it answers the same. */
function withKey({ headers }: Operation, input: Input, { idempotencyKey }: ToolContext): Input {
  const name = headers?.['idempotency-key'];
  return name === undefined ? input : { [name]: `copilot ${idempotencyKey}`, ...input };
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
