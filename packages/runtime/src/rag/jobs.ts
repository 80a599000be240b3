import { randomUUID } from 'node:crypto';
import { and, eq, sql } from 'drizzle-orm';
import type { SQL } from 'drizzle-orm';
import type { Drizzle } from '../stores/drizzle.ts';
import { later } from '../stores/later.ts';
import { rowsOf } from './chunk-table.ts';
import { ragIngests } from './table.ts';

/** A document that this process has taken, to embed it for an index. */
export interface Job {
  indexId: string;
  collectionId: string;
  documentId: string;
  version: number;
  /** In a row, without a batch that was kept; with this one. */
  attempts: number;
  /** Of this time it was taken. */
  leaseId: string;
}

/** Which documents are this process's to embed: a lease in the row of each says so. */
export interface Jobs {
  /** The one that has been due for longest, of indexes that answer before those that are built. Undefined: none is. */
  claim(): Promise<Job | undefined>;
  /** It has got on. False: another has taken it, or it is no longer wanted. */
  renew(job: Job): Promise<boolean>;
  /** It is still at it. False as above. */
  beat(job: Job): Promise<boolean>;
  /** Whoever looks after the pause has it. */
  putBack(job: Job, how: { reason: string | null; attempts: number; pauseMs: number }): Promise<void>;
  giveUp(job: Job, reason: string): Promise<void>;
  /** What is true of its row until another takes it, which may be in the same process. */
  mine(job: Job): SQL | undefined;
}

export function createJobs(db: Drizzle, leaseMs: number): Jobs {
  const mine = ({ indexId, documentId, version, leaseId }: Job) =>
    and(
      eq(ragIngests.indexId, indexId),
      eq(ragIngests.documentId, documentId),
      eq(ragIngests.version, version),
      eq(ragIngests.leaseId, leaseId),
    );
  return {
    mine,
    async claim() {
      const [row] = await rowsOf<Job>(
        db,
        sql`update ${ragIngests} set lease_id = ${randomUUID()}, state = 'embedding', attempts = attempts + 1, lease_until = ${later(leaseMs)}
          where (index_id, document_id) = (
            select index_id, document_id from ${ragIngests}
            where state in ('queued', 'embedding') and due_at <= now() and (lease_until is null or lease_until < now())
            order by is_anew, due_at limit 1 for update skip locked)
          returning index_id as "indexId", collection_id as "collectionId", document_id as "documentId", version, attempts,
            lease_id as "leaseId"`,
      );
      return row;
    },
    async renew(job) {
      const rows = await rowsOf(
        db,
        sql`update ${ragIngests} set attempts = 1, lease_until = ${later(leaseMs)} where ${mine(job)} returning 1`,
      );
      // Nothing is counted against a document that gets on.
      job.attempts = 1;
      return rows.length > 0;
    },
    async beat(job) {
      const rows = await rowsOf(
        db,
        sql`update ${ragIngests} set lease_until = ${later(leaseMs)} where ${mine(job)} returning 1`,
      );
      return rows.length > 0;
    },
    async putBack(job, { reason, attempts, pauseMs }) {
      await db.execute(sql`update ${ragIngests} set state = 'queued', error = ${reason}, lease_id = null, lease_until = null,
        attempts = ${attempts}, due_at = ${later(pauseMs)} where ${mine(job)}`);
    },
    async giveUp(job, reason) {
      await db
        .update(ragIngests)
        .set({ state: 'failed', error: reason, leaseId: null, leaseUntil: null })
        .where(mine(job));
    },
  };
}
