import { randomUUID } from 'node:crypto';
import { and, asc, eq, sql } from 'drizzle-orm';
import { rowsOf } from '../rag/chunk-table.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { later } from '../stores/later.ts';
import type { Embedder, Job, MemoryJobs } from './store.ts';
import { memoryPieces, memoryTurns } from './table.ts';

/** Which turns are this process's to embed: a lease in the row of each says so. */
export function createMemoryJobs(db: Drizzle, leaseMs: number): MemoryJobs {
  const owner = randomUUID();
  const endedBy = ({ model, since }: Embedder) => ({ model, dueAt: sql`${since}::timestamptz` });
  const mine = ({ runId }: Job) => and(eq(memoryTurns.runId, runId), eq(memoryTurns.leaseId, owner));
  return {
    async now() {
      const [row] = await rowsOf<{ at: string }>(db, sql`select now()::text as at`);
      return row?.at ?? '-infinity';
    },
    async claim(agents, model) {
      const wanted = JSON.stringify(agents);
      const [row] = await rowsOf<Job>(
        db,
        sql`update ${memoryTurns} set lease_id = ${owner}, state = 'embedding', attempts = attempts + 1, lease_until = ${later(leaseMs)}
          where run_id = (
            select run_id from ${memoryTurns}
            where state in ('queued', 'embedding') and due_at <= now() and (lease_until is null or lease_until < now())
              and (model is null or model = ${model}) and agent in (select jsonb_array_elements_text(${wanted}::jsonb))
            order by due_at limit 1 for update skip locked)
          returning run_id as "runId", attempts`,
      );
      return row;
    },
    async pieces({ runId }) {
      const rows = await db
        .select({ text: memoryPieces.text })
        .from(memoryPieces)
        .where(eq(memoryPieces.runId, runId))
        .orderBy(asc(memoryPieces.n));
      return rows.map(({ text }) => text);
    },
    finish: (job, by, vectors) =>
      db.transaction(async (tx) => {
        const rows = await tx
          .update(memoryTurns)
          .set({
            state: 'ready',
            ...endedBy(by),
            dimension: vectors[0]?.length ?? 0,
            error: null,
            attempts: 0,
            leaseId: null,
            leaseUntil: null,
          })
          .where(mine(job))
          .returning({ runId: memoryTurns.runId });
        if (rows.length === 0) return false;
        const embedded = JSON.stringify(vectors.map((embedding, n) => ({ n, embedding })));
        await tx.execute(sql`update ${memoryPieces} p set embedding = v.embedding
          from jsonb_to_recordset(${embedded}::jsonb) as v (n integer, embedding real[])
          where p.run_id = ${job.runId} and p.n = v.n`);
        return true;
      }),
    async putBack(job, { reason, attempts, pauseMs }) {
      await db
        .update(memoryTurns)
        .set({ state: 'queued', error: reason, attempts, leaseId: null, leaseUntil: null, dueAt: later(pauseMs) })
        .where(mine(job));
    },
    async giveUp(job, by, reason) {
      await db
        .update(memoryTurns)
        .set({ state: 'failed', ...endedBy(by), dimension: null, error: reason, leaseId: null, leaseUntil: null })
        .where(mine(job));
    },
    async requeueOthers({ model, since }, { lately }) {
      // One that waits for any model is left to whoever comes first. One under way has a lease; after that it is as due.
      const rows = await rowsOf(
        db,
        sql`update ${memoryTurns} set state = 'queued', model = ${model}, dimension = null, attempts = 0, due_at = now(),
            lease_id = null, lease_until = null
          where model is distinct from ${model} and (model is not null or state = 'failed')
            and due_at < ${since}::timestamptz and (lease_until is null or lease_until < now())
            ${lately ? sql`and created_at > now() - interval '2 hours'` : sql``}
          returning run_id`,
      );
      return rows.length;
    },
  };
}
