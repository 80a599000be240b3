import { and, asc, desc, eq, gt, inArray, lt, or, sql } from 'drizzle-orm';
import type { Drizzle } from '../stores/drizzle.ts';
import { isUuid, parseUuidCursor } from '../operations/cursor.ts';
import { toPageOf } from './paging.ts';
import type { Page, PageOf } from './paging.ts';
import type { RunCase, RunPlan, RunSummary } from './run.ts';
import { evalResults, evalRunCases, evalRuns } from './table.ts';

export type EvalRunRow = typeof evalRuns.$inferSelect;
export type ResultRow = typeof evalResults.$inferSelect;
export type RunCaseRow = typeof evalRunCases.$inferSelect;

export interface NewEvalRun {
  id: string;
  suiteId: string;
  suiteName: string;
  plan: RunPlan;
  by: string;
  cases: { caseId: string; snapshot: RunCase }[];
}

export interface Ending {
  status: 'completed' | 'failed' | 'cancelled';
  passed: boolean | null;
  score: number | null;
  summary: RunSummary | null;
  error: string | null;
}

export interface EvalRunStore {
  create(run: NewEvalRun): Promise<void>;
  find(id: string): Promise<EvalRunRow | undefined>;
  /** Newest first. Throws `invalid_cursor`. */
  list(filter: { suiteId?: string | undefined; status?: string | undefined }, page: Page): Promise<PageOf<EvalRunRow>>;
  /** The newest one of each of the suites. */
  listLast(suiteIds: readonly string[]): Promise<EvalRunRow[]>;
  /** The completed one before it, of the same suite. */
  findBefore(run: EvalRunRow): Promise<EvalRunRow | undefined>;
  /** In order, behind a position. */
  listCases(id: string, page: { after: number; limit: number }): Promise<RunCaseRow[]>;
  findCase(id: string, position: number): Promise<RunCaseRow | undefined>;
  /** All, or those of the positions. */
  listResults(id: string, positions?: readonly number[]): Promise<ResultRow[]>;
  /** Written again it is what it was. */
  keepResult(result: Omit<ResultRow, 'scoredAt'>): Promise<void>;
  /** False: it had ended before. */
  end(id: string, ending: Ending): Promise<boolean>;
  remove(id: string): Promise<void>;
  /**
   * With what was scored in them. `before`: what had ended then; `onlineBefore`: the runs of live turns whose day had. Answers how many have gone.
   */
  removeOlder(age: { before?: Date | undefined; onlineBefore?: Date | undefined }, limit: number): Promise<number>;
}

export function createEvalRunStore(db: Drizzle): EvalRunStore {
  return {
    create: ({ id, suiteId, suiteName, plan, by, cases }) =>
      db.transaction(async (tx) => {
        const planned = cases.length * plan.samples;
        const values = { id, suiteId, suiteName, plan, planned, status: 'running' as const, startedBy: by };
        await tx.insert(evalRuns).values(values);
        const rows = cases.map((given, position) => ({ evalRunId: id, position, ...given }));
        for (let from = 0; from < rows.length; from += BATCH)
          await tx.insert(evalRunCases).values(rows.slice(from, from + BATCH));
      }),
    async find(id) {
      const [row] = isUuid(id) ? await db.select().from(evalRuns).where(eq(evalRuns.id, id)) : [];
      return row;
    },
    async list({ suiteId, status }, page) {
      const rows = await db
        .select()
        .from(evalRuns)
        .where(
          and(
            suiteId === undefined ? undefined : eq(evalRuns.suiteId, suiteId),
            status === undefined ? undefined : eq(evalRuns.status, status as EvalRunRow['status']),
            page.cursor === undefined ? undefined : lt(evalRuns.id, parseUuidCursor(page.cursor)),
          ),
        )
        .orderBy(desc(evalRuns.id))
        .limit(page.limit + 1);
      return toPageOf(rows, page, { idOf: ({ id }) => id, show: (row) => row });
    },
    async listLast(suiteIds) {
      if (suiteIds.length === 0) return [];
      return db
        .selectDistinctOn([evalRuns.suiteId])
        .from(evalRuns)
        .where(and(inArray(evalRuns.suiteId, [...suiteIds]), sql`not (${IS_ONLINE})`))
        .orderBy(evalRuns.suiteId, desc(evalRuns.id));
    },
    async findBefore({ id, suiteId, plan }) {
      if (suiteId === null) return undefined;
      const [row] = await db
        .select()
        .from(evalRuns)
        .where(
          and(
            eq(evalRuns.suiteId, suiteId),
            eq(evalRuns.status, 'completed'),
            lt(evalRuns.id, id),
            // Live turns are no cases of the suite.
            plan.online ? IS_ONLINE : sql`not (${IS_ONLINE})`,
          ),
        )
        .orderBy(desc(evalRuns.id))
        .limit(1);
      return row;
    },
    listCases: (id, { after, limit }) =>
      db
        .select()
        .from(evalRunCases)
        .where(and(eq(evalRunCases.evalRunId, id), gt(evalRunCases.position, after)))
        .orderBy(asc(evalRunCases.position))
        .limit(limit),
    async findCase(id, position) {
      const place = and(eq(evalRunCases.evalRunId, id), eq(evalRunCases.position, position));
      return (await db.select().from(evalRunCases).where(place))[0];
    },
    async listResults(id, positions) {
      if (positions?.length === 0) return [];
      const among = positions && inArray(evalResults.position, [...positions]);
      return db
        .select()
        .from(evalResults)
        .where(and(eq(evalResults.evalRunId, id), among))
        .orderBy(asc(evalResults.position), asc(evalResults.sample));
    },
    async keepResult(result) {
      const { evalRunId: _run, position: _position, sample: _sample, ...values } = result;
      const target = [evalResults.evalRunId, evalResults.position, evalResults.sample];
      await db.insert(evalResults).values(result).onConflictDoUpdate({ target, set: values });
    },
    async end(id, ending) {
      const ended = await db
        .update(evalRuns)
        .set({ ...ending, endedAt: new Date() })
        .where(and(eq(evalRuns.id, id), eq(evalRuns.status, 'running')))
        .returning({ id: evalRuns.id });
      return ended.length > 0;
    },
    async remove(id) {
      await db.delete(evalRuns).where(eq(evalRuns.id, id));
    },
    async removeOlder({ before, onlineBefore }, limit) {
      const old = db
        .select({ id: evalRuns.id })
        .from(evalRuns)
        .where(
          or(
            before && and(lt(evalRuns.endedAt, before), sql`not (${IS_ONLINE})`),
            // The last one stays open where its suite scores no live turns any more.
            onlineBefore && and(lt(DAY_ENDED, onlineBefore), IS_ONLINE),
          ) ?? sql`false`,
        )
        .limit(limit);
      const removed = await db.delete(evalRuns).where(inArray(evalRuns.id, old)).returning({ id: evalRuns.id });
      return removed.length;
    },
  };
}

// --- internal ---

const BATCH = 100;
/** Of live turns. */
const IS_ONLINE = sql`${evalRuns.plan} ? 'online'`;
const DAY_ENDED = sql`coalesce(${evalRuns.endedAt}, ${evalRuns.createdAt} + interval '1 day')`;
