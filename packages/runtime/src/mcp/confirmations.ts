import { createHash, randomUUID } from 'node:crypto';
import type { Caller } from '../auth/caller.ts';
import { toCanonicalText } from '../json-value.ts';
import { HIDDEN } from '../mask.ts';
import type { UsedOnce } from '../stores/used-once.ts';
import { createStateSeal } from './sealed-state.ts';

/** The call a person is asked about. */
export interface MarkedCall {
  caller: Caller;
  operation: string;
  input: Input;
  /** Members of the input that whoever is asked is not shown. */
  secret: readonly string[];
}

export type Input = Record<string, unknown>;

/** What a state that does not confirm the call says. */
export type Doubt = 'unknown' | 'expired' | 'used' | 'other_call';

/** What a state says of a call. */
export interface Read {
  /** The whole call, where it is the one that was asked about. */
  input?: Input;
  /** What was not shown, where this caller was asked about this operation. */
  hidden?: Input;
  doubt?: Exclude<Doubt, 'used'>;
}

/** Ties the yes of a person to one call of one caller, once and for a short time. */
export interface Confirmations {
  /** The state to come back with the yes, and until when it is good. */
  ask(call: MarkedCall): Promise<{ state: string; expiresAt: string }>;
  /**
   * With `input` the call may run, and the state is used up on every replica, whatever comes of it. Who repeats the call as
   * it was shown runs the one that was asked about: what was hidden is in the state.
   */
  redeem(state: string, call: MarkedCall): Promise<{ input: Input } | { doubt: Doubt; hidden: Input }>;
  /** The same, and the state is as good as before. */
  read(state: string, call: MarkedCall): Promise<Read>;
}

export interface ConfirmationsOptions {
  /** What is confirmed for one is unknown to the other. */
  of: Purpose;
  /** The key of the boot: with it a state ends. */
  readKey(): Promise<Buffer>;
  used: UsedOnce;
  installation(): Promise<string>;
  now(): number;
}

/** `arguments`: what a call of the copilot is recorded without. */
export type Purpose = 'confirmation' | 'copilot' | 'arguments';

export const CONFIRM_SECONDS = 90;

export function createConfirmations({ of, readKey, used, installation, now }: ConfirmationsOptions): Confirmations {
  const seal = createStateSeal(of, readKey);
  const look = async (state: string, call: MarkedCall): Promise<Read & { jti?: string }> => {
    const content = (await seal.open(state)) as Content | undefined;
    if (!content) return { doubt: 'unknown' };
    const { hidden, jti } = content;
    const isAsShown = Object.entries(call.input).every(
      ([name, value]) => !call.secret.includes(name) || value === HIDDEN,
    );
    const input = isAsShown ? { ...call.input, ...hidden } : call.input;
    const binding = toBinding({ ...call, input }, await installation());
    const isSame = (names: readonly (keyof Binding)[]) => names.every((name) => binding[name] === content[name]);
    const known = isSame(['sub', 'installation', 'op']) ? { hidden } : {};
    const at = now();
    if (at >= content.exp || at < content.iat - SKEW_MS) return { ...known, doubt: 'expired' };
    return isSame(BOUND) ? { ...known, input, jti } : { ...known, doubt: 'other_call' };
  };
  return {
    async ask(call) {
      const binding = toBinding(call, await installation());
      const iat = now();
      const hidden = Object.fromEntries(Object.entries(call.input).filter(([name]) => call.secret.includes(name)));
      const exp = iat + CONFIRM_SECONDS * 1_000;
      const content: Content = { ...binding, hidden, iat, exp, jti: randomUUID() };
      return { state: await seal.seal(content), expiresAt: new Date(exp).toISOString() };
    },
    async redeem(state, call) {
      const { input, hidden = {}, doubt = 'unknown', jti } = await look(state, call);
      if (input === undefined || jti === undefined) return { doubt, hidden };
      return (await used.use(jti, REMEMBER_MS)) ? { input } : { doubt: 'used', hidden };
    },
    async read(state, call) {
      const { jti: _jti, ...read } = await look(state, call);
      return read;
    },
  };
}

// --- internal ---

/** Between the clocks of two replicas. */
const SKEW_MS = 5_000;
/** Longer than any state is good for, whatever the clocks of the replicas that clean up. */
const REMEMBER_MS = 3_600_000;

interface Binding {
  sub: string;
  role: string;
  installation: string;
  op: string;
  /** SHA-256 of the input, however its members are ordered. */
  args: string;
}

interface Content extends Binding {
  /** The members of the input that were not shown. */
  hidden: Input;
  iat: number;
  exp: number;
  jti: string;
}

const BOUND = ['sub', 'role', 'installation', 'op', 'args'] as const satisfies readonly (keyof Binding)[];

function toBinding({ caller, operation, input }: MarkedCall, installation: string): Binding {
  const args = createHash('sha256').update(toCanonicalText(input)).digest('base64url');
  return { sub: caller.id, role: caller.role ?? '', installation, op: operation, args };
}

/** As whoever is asked is shown it. */
export function withoutSecrets({ input, secret }: Pick<MarkedCall, 'input' | 'secret'>): Input {
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, secret.includes(name) ? HIDDEN : value]),
  );
}

/** The call with what was not shown of it, where that is known. */
export function withHidden<T extends Pick<MarkedCall, 'input' | 'secret'>>(call: T, hidden: Input = {}): T {
  const known = call.secret.filter((name) => call.input[name] === HIDDEN && hidden[name] !== undefined);
  return { ...call, input: { ...call.input, ...Object.fromEntries(known.map((name) => [name, hidden[name]])) } };
}

/** Members of which only that they are not shown is known. */
export function listLost({ input, secret }: Pick<MarkedCall, 'input' | 'secret'>): string[] {
  return secret.filter((name) => input[name] === HIDDEN);
}
