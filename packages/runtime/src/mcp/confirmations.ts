import { createHash, randomUUID } from 'node:crypto';
import type { Caller } from '../auth/caller.ts';
import { createStateSeal } from './sealed-state.ts';

/** The call a person is asked about. */
export interface MarkedCall {
  caller: Caller;
  operation: string;
  input: unknown;
}

/** What a state that does not confirm the call says. */
export type Doubt = 'unknown' | 'expired' | 'used' | 'other_call';

/** Ties the yes of a person to one call of one caller, once and for a short time. */
export interface Confirmations {
  /** The state to come back with the yes. */
  ask(call: MarkedCall): string;
  /** Undefined: the call may run, and the state is used up, whatever comes of it. */
  redeem(state: string, call: MarkedCall): Doubt | undefined;
}

export const CONFIRM_SECONDS = 90;

export function createConfirmations({ installation, now }: { installation: string; now(): number }): Confirmations {
  const seal = createStateSeal('confirmation');
  // Only this process opens what it sealed, so only it has to remember what was used.
  const used = new Map<string, number>();
  const forget = (at: number): void => {
    for (const [jti, exp] of used) if (exp <= at) used.delete(jti);
  };
  return {
    ask(call) {
      const iat = now();
      const content: Content = {
        ...toBinding(call, installation),
        iat,
        exp: iat + CONFIRM_SECONDS * 1_000,
        jti: randomUUID(),
      };
      return seal.seal(content);
    },
    redeem(state, call) {
      const content = seal.open(state) as Content | undefined;
      if (!content) return 'unknown';
      const at = now();
      if (at >= content.exp || at < content.iat) return 'expired';
      const binding = toBinding(call, installation);
      if (BOUND.some((name) => binding[name] !== content[name])) return 'other_call';
      if (used.has(content.jti)) return 'used';
      forget(at);
      used.set(content.jti, content.exp);
      return undefined;
    },
  };
}

// --- internal ---

interface Binding {
  sub: string;
  role: string;
  installation: string;
  op: string;
  /** SHA-256 of the input, however its members are ordered. */
  args: string;
}

interface Content extends Binding {
  iat: number;
  exp: number;
  jti: string;
}

const BOUND = ['sub', 'role', 'installation', 'op', 'args'] as const satisfies readonly (keyof Binding)[];

function toBinding({ caller, operation, input }: MarkedCall, installation: string): Binding {
  const args = createHash('sha256').update(canonicalize(input)).digest('base64url');
  return { sub: caller.id, role: caller.kind, installation, op: operation, args };
}

/** JSON with the members of every object in order. */
function canonicalize(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
