import { copilotDisabled } from '../agents/copilot.ts';
import type { Caller } from '../auth/caller.ts';
import { toAskingPerson } from '../auth/caller.ts';
import type { ToolContext } from '../definitions/agent.ts';
import { askedByOf } from '../engine/box-marks.ts';
import type { Journal } from '../engine/journal.ts';
import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import { listLost, withHidden, withoutSecrets } from '../mcp/confirmations.ts';
import type { Confirmations, Doubt, Input, MarkedCall } from '../mcp/confirmations.ts';
import { requireShown } from '../mcp/shown.ts';
import type { Operation } from '../operations/define.ts';
import { callOperation, checkCall, parseInput } from '../surface/call.ts';
import { toRun } from './answers.ts';
import type { HiddenArguments, HiddenCall } from './hidden-arguments.ts';
import { createOnce, interrupted } from './once.ts';
import type { OnceOptions, Write } from './once.ts';

/** What a confirmation is asked with. */
export interface ConfirmCall extends HiddenCall {
  requestState: string;
}

export interface CallsOptions extends OnceOptions {
  journal: Pick<Journal, 'getRun'>;
  confirmations: Confirmations;
  hidden: Pick<HiddenArguments, 'open'>;
  log: Log;
}

/** Calls of operations for the person whose turn it is. */
export interface Calls {
  read(op: Operation, input: Input, context: ToolContext): Promise<unknown>;
  /** At most once, whatever becomes of the process. */
  write(op: Operation, input: Input, context: ToolContext): Promise<unknown>;
  /** Asks for a confirmation of a call whose input is right. Whether the person may is seen once it is confirmed. */
  ask(op: Operation, call: HiddenCall, context: ToolContext): Promise<unknown>;
  /** Runs what a person has approved, or asks again and says why. */
  confirm(op: Operation, call: ConfirmCall, context: ToolContext): Promise<unknown>;
}

export function createCalls(options: CallsOptions): Calls {
  const { rooms, confirmations, hidden, journal } = options;
  const once = createOnce(options);
  const askerOf = async ({ run, caller }: ToolContext): Promise<Caller> => {
    const row = await journal.getRun(run.id);
    const asker = row && askedByOf(row);
    if (asker === undefined || caller.kind !== 'person') throw new BoxError('forbidden', NOBODY);
    if (!(await rooms().settings.isCopilotEnabled())) throw copilotDisabled();
    return toAskingPerson(asker, caller);
  };
  const ask = async (marked: MarkedCall, op: Operation, doubt: Doubt | Asked) => {
    await parseInput(op, marked.input);
    if (doubt === 'unasked') requireShown(marked);
    const lost = listLost(marked);
    if (lost.length > 0) return toLost({ op, marked, doubt }, lost);
    return toQuestion({ op, marked, doubt, ...(await confirmations.ask(marked)) });
  };
  const toMarked = async (op: Operation, call: HiddenCall, context: ToolContext): Promise<MarkedCall> => {
    const caller = await askerOf(context);
    const input = await hidden.open(op, call, { caller, runId: context.run.id });
    return { caller, operation: op.id, input, secret: op.secret ?? [] };
  };
  const settle = async (write: Write, otherwise: () => unknown) => {
    const outcome = await once.settle(write);
    return outcome.ran === false ? otherwise() : toRun(write.op.id, outcome);
  };
  return {
    async read(op, input, context) {
      const caller = await askerOf(context);
      const { signal, idempotencyKey: requestId } = context;
      return callOperation(op, rooms(), input, { caller, signal, source: 'copilot', requestId });
    },
    async write(op, input, context) {
      const write = { op, input, caller: await askerOf(context), context };
      if (await once.begin(context)) return once.call(write);
      return settle(write, () => {
        throw interrupted(op.id);
      });
    },
    async ask(op, call, context) {
      return ask(await toMarked(op, call, context), op, 'unasked');
    },
    async confirm(op, { requestState, ...call }, context) {
      const marked = await toMarked(op, call, context);
      const { caller } = marked;
      if (!(await once.begin(context))) {
        const whole = withHidden(marked, (await confirmations.read(requestState, marked)).hidden);
        return settle({ op, input: whole.input, caller, context }, () => ask(whole, op, 'not_begun'));
      }
      const redeemed = await confirmations.redeem(requestState, marked);
      if ('input' in redeemed) return once.call({ op, input: redeemed.input, caller, context });
      // What cannot run is refused at once, rather than put to the person again.
      await checkCall(op, rooms(), { caller, source: 'copilot' });
      return ask(withHidden(marked, redeemed.hidden), op, redeemed.doubt);
    },
  };
}

// --- internal ---

const NOBODY = 'The copilot calls operations for the person who asks it, and no one has asked this turn.';
/** Why it is asked, where no state is in doubt. */
type Asked = 'unasked' | 'not_begun';

const REASONS: Record<Doubt | Asked, string> = {
  unasked: '',
  not_begun: 'The box was restarted before the call was made. Nothing ran. ',
  unknown: 'The requestState is none of this box, or was made before it was restarted. Nothing ran. ',
  expired: 'The confirmation came after 90 seconds. Nothing ran. ',
  used: 'This confirmation has been used before, and the call was not repeated. ',
  other_call: 'The call was edited. Nothing ran. ',
};

interface Question {
  op: Operation;
  marked: MarkedCall;
  doubt: Doubt | Asked;
  state: string;
  expiresAt: string;
}

/** A call that cannot be asked about again: what was not shown of it is known to no one. */
function toLost({ op, marked, doubt }: Pick<Question, 'op' | 'marked' | 'doubt'>, lost: readonly string[]): unknown {
  const input = withoutSecrets(marked);
  const names = lost.map((name) => `"${name}"`).join(', ');
  const message = `${REASONS[doubt]}${names} of "${op.id}" is not kept. Call it again with call_write_operation and the value itself; ask the person for it where you do not know it.`;
  return {
    code: 'confirmation_required',
    message,
    details: { call: { operation: op.id, input }, reason: doubt, missing: lost },
  };
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
