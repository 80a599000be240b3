import { newRunId } from '../../ids.ts';
import type { Claim } from '../../journal/leases.ts';
import type { RunRow } from '../../journal/run.ts';
import { CLAIMABLE, CLAIMABLE_ONE, expireOthersQuery } from '../sql/queries.ts';
import { RUN_SELECT, toRunRow } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import type { SqliteDatabase } from './driver.ts';
import type { SqliteSerial } from './serial.ts';
import { toStoredText } from '../sql/text.ts';

export interface SqliteClaims {
  /** To be called in a transaction. */
  claim(claim: Claim, now: number): RunRow[];
  /** To be called in a transaction. */
  claimRun(runId: string, claim: Pick<Claim, 'owner' | 'leaseMs'>, now: number): RunRow | undefined;
}

export function createSqliteClaims(db: SqliteDatabase, serial: SqliteSerial): SqliteClaims {
  const parts = CLAIMABLE.map(({ where, orderBy }) =>
    db.prepare<StoredRow>(`${GIVEN} select ${RUN_SELECT} from runs where ${where} order by ${orderBy} limit ?`),
  );
  const one = db.prepare<StoredRow>(`${GIVEN} select ${RUN_SELECT} from runs where run_id = ? and ${CLAIMABLE_ONE}`);
  const expireOthers = db.prepare(`${GIVEN} ${expireOthersQuery('runs')}`);
  const update = db.prepare(
    `update runs set owner = ?, lease_until = ?, epoch = ?, status = 'running', started_at = ?, crash_count = ?,
      crash_seq = ? where run_id = ?`,
  );

  function take(stored: StoredRow, { owner, leaseMs }: Pick<Claim, 'owner' | 'leaseMs'>, now: number): RunRow {
    const run = toRunRow(stored);
    const taken = {
      owner,
      leaseUntil: now + leaseMs,
      epoch: run.epoch + 1,
      startedAt: run.startedAt ?? now,
      ...crashesOf(run, owner),
    };
    const { leaseUntil, epoch, startedAt, crashCount, crashSeq } = taken;
    update.run(toStoredText(owner), leaseUntil, epoch, startedAt, crashCount, crashSeq, toStoredText(run.runId));
    return { ...run, ...taken, status: 'running' };
  }

  return {
    claim(claim, now) {
      const owner = toStoredText(claim.owner);
      serial.promoteIdle(newRunId, now);
      if (claim.takeover) expireOthers.run(now, owner);
      const found: StoredRow[] = [];
      for (const part of parts)
        if (found.length < claim.limit) found.push(...part.all(now, owner, claim.limit - found.length));
      return found.map((stored) => take(stored, claim, now));
    },
    claimRun(runId, claim, now) {
      const stored = one.get(now, toStoredText(claim.owner), toStoredText(runId));
      return stored && take(stored, claim, now);
    },
  };
}

// --- internal ---

const GIVEN = 'with given(now, owner) as (select ?, ?)';

/** What the claim records of the owner before: whether it died, and whether the run may have been what killed it. */
function crashesOf(run: RunRow, owner: string): Pick<RunRow, 'crashCount' | 'crashSeq'> {
  const { crashCount, crashSeq, seq } = run;
  if (run.owner === null || run.owner === owner) return { crashCount, crashSeq };
  if (crashSeq !== seq) return { crashCount: 0, crashSeq: seq };
  return { crashCount: crashCount + (run.markEpoch === run.epoch ? 1 : 0), crashSeq };
}
