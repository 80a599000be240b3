import { createHash } from 'node:crypto';
import { toRule } from './rules.ts';
import type { Rule } from './rules.ts';
import type { StoredGuardrail } from './store.ts';

/** Rules that are data, each made ready once and again when it has changed: their store is read every few seconds. */
export interface StoredRules {
  make(rule: StoredGuardrail): Rule;
  /** Drops those that are none of these. */
  keep(rules: readonly StoredGuardrail[]): void;
}

/** `onProblem`: called once for each that cannot judge. */
export function createStoredRules(onProblem: (rule: StoredGuardrail, problem: string) => void): StoredRules {
  const known = new Map<string, { version: string; rule: Rule }>();
  return {
    make(given) {
      const version = versionOf(given);
      const kept = known.get(given.id);
      if (kept?.version === version) return kept.rule;
      const rule = toRule(given);
      known.set(given.id, { version, rule });
      if (rule.problem !== undefined && given.enabled) onProblem(given, rule.problem);
      return rule;
    },
    keep(rules) {
      const ids = new Set(rules.map(({ id }) => id));
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    },
  };
}

// --- internal ---

/** A check may have half a million characters. */
function versionOf({ name, action, failClosed, enabled, check }: StoredGuardrail): string {
  return createHash('sha256')
    .update(JSON.stringify([name, action, failClosed, enabled, check]))
    .digest('base64');
}
