import type { Rule } from './rules.ts';
import type { Found } from './text-stream.ts';

/** The outcome of a text or of a value. */
export interface Judged<T> {
  /** As it may go on; of one that is blocked, nothing. */
  value: T;
  blocked: Found | undefined;
  /** What has it wait for an operator. */
  held: Found | undefined;
  found: readonly Found[];
}

/** Several texts or values of one side, found in one after the other. */
export interface Findings {
  readonly blocked: Found | undefined;
  add(found: Found): void;
  toAnswer(): Omit<Judged<unknown>, 'value'>;
}

export function createFindings(): Findings {
  const byRule = new Map<string, Found>();
  let blocked: Found | undefined;
  let held: Found | undefined;
  return {
    get blocked() {
      return blocked;
    },
    add(found) {
      const key = `${found.rule.id} ${found.isApplied}`;
      const known = byRule.get(key);
      const all = known ? { ...known, count: known.count + found.count } : found;
      byRule.set(key, all);
      if (!found.isApplied) return;
      if (found.rule.action === 'block') blocked ??= all;
      if (found.rule.action === 'hold') held ??= all;
    },
    toAnswer: () => ({ blocked, held, found: [...byRule.values()] }),
  };
}

/** Of a check that failed: what it cannot check does not pass, unless the rule says so. */
export function toFailed(rule: Rule, why: string): Found {
  const reason = `The check failed: ${why}`.slice(0, MOST_CHARACTERS);
  return { rule: rule.failClosed ? { ...rule, action: 'block' } : rule, count: 1, reason, isApplied: rule.failClosed };
}

// --- internal ---

const MOST_CHARACTERS = 500;
