import { createHash } from 'node:crypto';
import { and, eq, lt, max, sql } from 'drizzle-orm';
import type { Drizzle } from '../stores/drizzle.ts';
import type { EvalRunRow } from './run-store.ts';
import type { RunCase } from './run.ts';
import type { Suite } from './suite.ts';
import { evalRunCases, evalRuns } from './table.ts';

/** Live turns that one suite scores on one day. */
export const MOST_A_DAY = 1_000;

export interface LiveStore {
  /**
   * A place for the turn in the run of its suite of the day it ended; the same for the same turn. Undefined: that day has no
   * room any more. `before`: runs of earlier days that have not been ended.
   */
  place(
    suite: Suite,
    turn: { runId: string; snapshot: RunCase; endedAt: number },
  ): Promise<{ evalRunId: string; position: number; before: EvalRunRow[] } | undefined>;
}

export function createLiveStore(db: Drizzle): LiveStore {
  return {
    place: (suite, { runId, snapshot, endedAt }) =>
      db.transaction(async (tx) => {
        const id = idOfDay(suite.id, endedAt);
        const { gates, timeoutMs, online } = suite;
        const plan = { gates, samples: 1, concurrency: 1, timeoutMs, model: null, prompts: [], note: null };
        const values = {
          id,
          suiteId: suite.id,
          suiteName: suite.name,
          plan: online ? { ...plan, online } : plan,
          planned: 0,
          status: 'running' as const,
          startedBy: 'the box',
        };
        await tx.insert(evalRuns).values(values).onConflictDoNothing();
        // One turn after the other: their places are counted.
        await tx.select({ id: evalRuns.id }).from(evalRuns).where(eq(evalRuns.id, id)).for('update');
        const ofTurn = and(eq(evalRunCases.evalRunId, id), eq(evalRunCases.caseId, runId));
        const [known] = await tx.select({ position: evalRunCases.position }).from(evalRunCases).where(ofTurn);
        const [last] = await tx
          .select({ position: max(evalRunCases.position) })
          .from(evalRunCases)
          .where(eq(evalRunCases.evalRunId, id));
        const position = known?.position ?? (last?.position ?? -1) + 1;
        if (position >= MOST_A_DAY) return undefined;
        if (!known) {
          await tx.insert(evalRunCases).values({ evalRunId: id, position, caseId: runId, snapshot });
          await tx
            .update(evalRuns)
            .set({ planned: position + 1 })
            .where(eq(evalRuns.id, id));
        }
        const open = and(eq(evalRuns.status, 'running'), lt(evalRuns.id, id), sql`${evalRuns.plan} ? 'online'`);
        const before = await tx
          .select()
          .from(evalRuns)
          .where(and(eq(evalRuns.suiteId, suite.id), open))
          .limit(10);
        return { evalRunId: id, position, before };
      }),
  };
}

// --- internal ---

const DAY_MS = 86_400_000;

/** Ordered among the ids of launches by the beginning of its day. */
function idOfDay(suiteId: string, at: number): string {
  const day = Math.floor(at / DAY_MS) * DAY_MS;
  const time = day.toString(16).padStart(12, '0');
  const hash = createHash('sha256').update(`${suiteId} ${day}`).digest('hex');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hash.slice(0, 3)}-8${hash.slice(3, 6)}-${hash.slice(6, 18)}`;
}
