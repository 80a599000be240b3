import { copilotDisabled } from '../agents/copilot.ts';
import type { Caller } from '../auth/caller.ts';
import { toAskingPerson } from '../auth/caller.ts';
import type { ToolContext } from '../definitions/agent.ts';
import { askedByOf } from '../engine/box-marks.ts';
import type { Journal } from '../engine/journal.ts';
import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import { withoutSecrets } from '../mcp/confirmations.ts';
import type { Confirmations, Doubt, Input, MarkedCall } from '../mcp/confirmations.ts';
import { requireShown } from '../mcp/shown.ts';
import type { Operation } from '../operations/define.ts';
import { callOperation, checkCall, parseInput } from '../surface/call.ts';
import type { Rooms } from '../surface/rooms.ts';
import { toBegunBefore } from './answers.ts';

export interface CallsOptions {
  rooms(): Rooms;
  confirmations: Confirmations;
  journal: Pick<Journal, 'getRun'>;
  log: Log;
}

/** Calls of operations for the person whose turn it is. */
export interface Calls {
  read(op: Operation, input: Input, context: ToolContext): Promise<unknown>;
  /** At most once, whatever becomes of the process. */
  write(op: Operation, input: Input, context: ToolContext): Promise<unknown>;
  /** Asks for a confirmation of a call whose input is right. Whether the person may is seen once it is confirmed. */
  ask(op: Operation, input: Input, context: ToolContext): Promise<unknown>;
  /** Runs what a person has approved, or asks again and says why. */
  confirm(op: Operation, call: { input: Input; requestState: string }, context: ToolContext): Promise<unknown>;
}

export function createCalls({ rooms, confirmations, journal }: CallsOptions): Calls {
  const askerOf = async ({ run, caller }: ToolContext): Promise<Caller> => {
    const row = await journal.getRun(run.id);
    const asker = row && askedByOf(row);
    if (asker === undefined || caller.kind !== 'person') throw new BoxError('forbidden', NOBODY);
    if (!(await rooms().settings.isCopilotEnabled())) throw copilotDisabled();
    return toAskingPerson(asker, caller);
  };
  const call = (op: Operation, input: Input, { caller, context }: { caller: Caller; context: ToolContext }) =>
    callOperation(op, rooms(), input, {
      caller,
      signal: context.signal,
      source: 'copilot',
      requestId: context.idempotencyKey,
    });
  /** The same key: the call had begun in a process that ended. */
  const isFirst = (context: ToolContext) => confirmations.isFirst(context.idempotencyKey);
  const hasRun = async (op: Operation, caller: Caller, { idempotencyKey }: ToolContext): Promise<boolean> => {
    const filter = { operation: op.id, actor: caller.id };
    const { items } = await rooms().activity.list(filter, { limit: LOOKED_AT }, caller);
    return items.some(({ requestId }) => requestId === idempotencyKey);
  };
  const ask = async (marked: MarkedCall, op: Operation, doubt: Doubt | 'unasked') => {
    await parseInput(op, marked.input);
    requireShown(marked);
    return toQuestion({ op, marked, doubt, ...(await confirmations.ask(marked)) });
  };
  const toMarked = (op: Operation, input: Input, caller: Caller): MarkedCall => ({
    caller,
    operation: op.id,
    input,
    secret: op.secret ?? [],
  });
  return {
    read: async (op, input, context) => call(op, input, { caller: await askerOf(context), context }),
    async write(op, input, context) {
      const caller = await askerOf(context);
      if (!(await isFirst(context))) return toBegunBefore(op.id, await hasRun(op, caller, context));
      return call(op, input, { caller, context });
    },
    async ask(op, input, context) {
      return ask(toMarked(op, input, await askerOf(context)), op, 'unasked');
    },
    async confirm(op, { input, requestState }, context) {
      const caller = await askerOf(context);
      const marked = toMarked(op, input, caller);
      if (!(await isFirst(context))) return toBegunBefore(op.id, await hasRun(op, caller, context));
      const redeemed = await confirmations.redeem(requestState, marked);
      if ('input' in redeemed) return call(op, redeemed.input, { caller, context });
      // What cannot run is refused at once, rather than put to the person again.
      await checkCall(op, rooms(), { caller, source: 'copilot' });
      return ask(marked, op, redeemed.doubt);
    },
  };
}

// --- internal ---

const NOBODY = 'The copilot calls operations for the person who asks it, and nobody has asked this turn.';
/** Of the newest changes, those among which a call is looked for that had begun before. */
const LOOKED_AT = 200;

const REASONS: Record<Doubt | 'unasked', string> = {
  unasked: '',
  unknown: 'The requestState is none of this box, or was made before it was restarted. Nothing ran. ',
  expired: 'The confirmation came after 90 seconds. Nothing ran. ',
  used: 'This confirmation has been used before, and the call was not repeated. ',
  other_call: 'The call was edited. Nothing ran. ',
};

interface Question {
  op: Operation;
  marked: MarkedCall;
  doubt: Doubt | 'unasked';
  state: string;
  expiresAt: string;
}

function toQuestion({ op, marked, doubt, state, expiresAt }: Question): unknown {
  const input = withoutSecrets(marked);
  return {
    code: 'confirmation_required',
    message: `${REASONS[doubt]}${op.summary}: "${op.id}" with ${JSON.stringify(input)}.`,
    details: { call: { operation: op.id, input }, ...(doubt === 'unasked' ? {} : { reason: doubt }), expiresAt },
    requestState: state,
  };
}
