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

/** Ties the yes of a person to one call of one caller, once and for a short time. */
export interface Confirmations {
  /** The state to come back with the yes, and until when it is good. */
  ask(call: MarkedCall): Promise<{ state: string; expiresAt: string }>;
  /**
   * With `input` the call may run, and the state is used up on every replica, whatever comes of it. Who repeats the call as
   * it was shown runs the one that was asked about: what was hidden is in the state.
   */
  redeem(state: string, call: MarkedCall): Promise<{ input: Input } | { doubt: Doubt }>;
}

export interface ConfirmationsOptions {
  /** What is confirmed for one is unknown to the other. */
  of: 'confirmation' | 'copilot';
  /** The key of the boot: with it a state ends. */
  readKey(): Promise<Buffer>;
  used: UsedOnce;
  installation(): Promise<string>;
  now(): number;
}

export const CONFIRM_SECONDS = 90;

export function createConfirmations({ of, readKey, used, installation, now }: ConfirmationsOptions): Confirmations {
  const seal = createStateSeal(of, readKey);
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
      const content = (await seal.open(state)) as Content | undefined;
      if (!content) return { doubt: 'unknown' };
      const at = now();
      if (at >= content.exp || at < content.iat - SKEW_MS) return { doubt: 'expired' };
      const isAsShown = Object.entries(call.input).every(
        ([name, value]) => !call.secret.includes(name) || value === HIDDEN,
      );
      const input = isAsShown ? { ...call.input, ...content.hidden } : call.input;
      const binding = toBinding({ ...call, input }, await installation());
      if (BOUND.some((name) => binding[name] !== content[name])) return { doubt: 'other_call' };
      return (await used.use(content.jti, REMEMBER_MS)) ? { input } : { doubt: 'used' };
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
