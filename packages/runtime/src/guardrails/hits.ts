import type { Log } from '../log.ts';
import type { Action, GuardrailStore, NewHit, Side } from './store.ts';
import type { Rule } from './rules.ts';
import type { Found } from './text-stream.ts';

/** Where something was found. */
export interface HitPlace {
  side: Side;
  place: string;
  /** Null: there is no run, or not yet. */
  runId: string | null;
  /** Whose turn of the copilot it is, or is below. Default: everyone's. */
  askedBy?: string | undefined;
}

/** What was found, or decided about what was. */
export type Noted = Omit<Found, 'rule'> & { rule: Pick<Rule, 'id' | 'name' | 'action'> };

/** Hits on their way to the store: nothing waits for them. */
export interface HitWriter {
  add(found: readonly Noted[], place: HitPlace): void;
  /** Resolves when those so far are written, or cannot be. */
  flush(): Promise<void>;
}

export function createHitWriter(store: Pick<GuardrailStore, 'addHits'>, log: Log): HitWriter {
  let waiting: (NewHit & { at: Date })[] = [];
  let writing: Promise<void> | undefined;
  let dropped = 0;
  const write = async (): Promise<void> => {
    // Those of one turn of the event loop together.
    await Promise.resolve();
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH);
      try {
        await store.addHits(batch);
      } catch (error) {
        dropped += batch.length;
        log.warn('Hits of guardrails could not be recorded.', { error, hits: dropped });
      }
    }
  };
  return {
    add(found, { askedBy = null, ...where }) {
      for (const { rule, count, reason, isApplied } of found) {
        const { id: ruleId, name: ruleName } = rule;
        const action: Action = rule.action;
        // A store that does not answer holds up no one, and takes no more memory than this.
        if (waiting.length >= MOST_WAITING) dropped += 1;
        else waiting.push({ at: new Date(), ruleId, ruleName, action, count, reason, isApplied, askedBy, ...where });
      }
      if (waiting.length > 0) writing ??= write().finally(() => (writing = undefined));
    },
    flush: async () => writing,
  };
}

// --- internal ---

const BATCH = 200;
const MOST_WAITING = 10_000;
