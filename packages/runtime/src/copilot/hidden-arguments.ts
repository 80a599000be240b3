import { CONFIRM_TOOL } from '../agents/copilot.ts';
import type { HideArguments } from '../approvals/tool-approval.ts';
import { toAskingPerson } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { askedByOf } from '../engine/box-marks.ts';
import { startedByOf } from '../engine/started-by.ts';
import { HIDDEN } from '../mask.ts';
import { withHidden } from '../mcp/confirmations.ts';
import type { Confirmations, Input } from '../mcp/confirmations.ts';
import type { Operation } from '../operations/define.ts';
import type { OperationCatalog } from '../surface/catalog.ts';

/** The tools whose arguments are a call of an operation. */
export const CALL_READ = 'call_read_operation';
export const CALL_WRITE = 'call_write_operation';

export interface HiddenArgumentsOptions {
  operations(): OperationCatalog;
  /** For one call each. */
  sealed: Confirmations;
}

/** A call as it was recorded. */
export interface HiddenCall {
  input: Input;
  /** What its record is without. */
  sealed?: string | undefined;
}

/** Members of calls that only the call itself may read: recorded and shown is `[hidden]`. */
export interface HiddenArguments {
  hide: HideArguments;
  /** The call as the model wrote it, for the person and the run it was made in, for 90 seconds; after that as it is. */
  open(op: Operation, call: HiddenCall, by: { caller: Caller; runId: string }): Promise<Input>;
}

export function createHiddenArguments({ operations, sealed }: HiddenArgumentsOptions): HiddenArguments {
  const find = (id: unknown): Operation | undefined => {
    for (const kind of ['write', 'read'] as const)
      try {
        return operations().get(String(id), kind);
      } catch {
        // Of the other kind, or none.
      }
    return undefined;
  };
  const listShown = (op: Operation): string[] => {
    const { properties = {} } = operations().describe(op.id).input as { properties?: object };
    return Object.keys(properties).filter((name) => !op.secret?.includes(name));
  };
  const toCall = (op: Operation, input: Input, { caller, runId }: { caller: Caller; runId: string }) => ({
    caller,
    operation: `${runId} ${op.id}`,
    input,
    secret: secretsOf(op),
  });
  return {
    async hide(tool, text, run) {
      if (!TOOLS.has(tool)) return text;
      const args = parse(text);
      if (!args) return text.trim() === '' ? text : HIDDEN;
      const op = find(args.operation);
      // Which members may be seen is not known.
      if (!op) return JSON.stringify(hideInput(hideAll(args, SHOWN), args.input));
      if (secretsOf(op).length === 0) return text;
      const { input } = args;
      const rest = hideAll(args, SHOWN);
      if (!isObject(input)) return JSON.stringify(hideInput(rest, input));
      const shown = hideAll(input, listShown(op));
      const { sealed: _old, ...call }: Input = { ...rest, input: shown };
      const caller = askerOf(run);
      const isWhole = secretsOf(op).every((name) => input[name] === undefined || input[name] === HIDDEN);
      if (!caller || isWhole) return JSON.stringify(withToken(call, args.sealed, isWhole));
      const { state } = await sealed.ask(toCall(op, input, { caller, runId: run.runId }));
      return JSON.stringify({ ...call, sealed: state });
    },
    async open(op, { input, sealed: state }, by) {
      if (state === undefined) return input;
      const call = toCall(op, input, by);
      const { input: whole } = await sealed.read(state, call);
      return whole === undefined ? input : withHidden(call, whole).input;
    },
  };
}

// --- internal ---

const TOOLS = new Set([CALL_READ, CALL_WRITE, CONFIRM_TOOL]);
/** Members of the arguments that hold no value of anyone. */
const SHOWN = ['operation', 'input', 'requestState', 'sealed'];

/** What the person who is asked is not shown either. */
function secretsOf({ confirm, secret = [] }: Operation): readonly string[] {
  return confirm ? secret : [];
}

function isObject(value: unknown): value is Input {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parse(text: string): Input | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function hideAll(values: Input, but: readonly string[]): Input {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, but.includes(name) ? value : HIDDEN]));
}

function hideInput(args: Input, input: unknown): Input {
  if (input === undefined) return args;
  return { ...args, input: isObject(input) ? hideAll(input, []) : HIDDEN };
}

/** One that was sealed before, of a call that comes as it was shown. */
function withToken(call: Input, state: unknown, isAsShown: boolean): Input {
  return isAsShown && typeof state === 'string' ? { ...call, sealed: state } : call;
}

function askerOf(run: Parameters<HideArguments>[2]): Caller | undefined {
  const asker = askedByOf(run);
  const by = startedByOf(run);
  return asker === undefined || by?.kind !== 'person' ? undefined : toAskingPerson(asker, by);
}
