import type { Claim, ClaimOne } from '../../journal/leases.ts';
import type { RunRow } from '../../journal/run.ts';
import { claimable, claimableOne, expireOthersQuery } from '../sql/queries.ts';
import { RUN_SELECT, toRunRow } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import type { SqliteDatabase } from './driver.ts';
import type { SqliteSerial } from './serial.ts';
import { toStoredText } from '../sql/text.ts';

export interface SqliteClaims {
  /** To be called in a transaction. */
  claim(claim: Claim, now: number): RunRow[];
  /** To be called in a transaction. */
  claimRun(runId: string, claim: ClaimOne, now: number): RunRow | undefined;
}

export function createSqliteClaims(db: SqliteDatabase, serial: SqliteSerial): SqliteClaims {
  const partsOf = (and: string) =>
    claimable().map(({ where, orderBy }) =>
      db.prepare<StoredRow>(
        `${GIVEN} select ${RUN_SELECT} from runs where ${where} ${and} order by ${orderBy} limit ?`,
      ),
    );
  const parts = partsOf('');
  const choosy = partsOf('and (code_hash is null or code_hash not in (select value from json_each(?)))');
  const one = db.prepare<StoredRow>(
    `${GIVEN} select ${RUN_SELECT} from runs where run_id = ? and ${claimableOne('?')}`,
  );
  const expireOthers = db.prepare(`${GIVEN} ${expireOthersQuery('runs')}`);
  const update = db.prepare(
    `update runs set owner = ?, lease_until = ?, epoch = ?, status = 'running', started_at = ?, crash_count = ?,
      crash_seq = ? where run_id = ?`,
  );

  function take(stored: StoredRow, { owner, leaseMs, from }: ClaimOne, now: number): RunRow {
    const run = toRunRow(stored);
    const isReleased = run.owner === null || run.owner === owner || (run.owner === from?.owner && !from.died);
    const taken = {
      owner,
      leaseUntil: now + leaseMs,
      epoch: run.epoch + 1,
      startedAt: run.startedAt ?? now,
      ...(isReleased ? {} : crashesOf(run)),
    };
    const { leaseUntil, epoch, startedAt, crashCount, crashSeq } = { ...run, ...taken };
    update.run(toStoredText(owner), leaseUntil, epoch, startedAt, crashCount, crashSeq, toStoredText(run.runId));
    return { ...run, ...taken, status: 'running' };
  }

  return {
    claim(claim, now) {
      const owner = toStoredText(claim.owner);
      serial.promoteIdle(now);
      if (claim.takeover) expireOthers.run(now, owner);
      const found: StoredRow[] = [];
      const { limit, notCodes = [] } = claim;
      const codes = notCodes.length > 0 ? [JSON.stringify(notCodes.map(toStoredText))] : [];
      for (const part of codes.length > 0 ? choosy : parts)
        if (found.length < limit) found.push(...part.all(now, owner, ...codes, limit - found.length));
      return found.map((stored) => take(stored, claim, now));
    },
    claimRun(runId, claim, now) {
      const from = toStoredText(claim.from?.owner ?? claim.owner);
      const stored = one.get(now, toStoredText(claim.owner), toStoredText(runId), from);
      return stored && take(stored, claim, now);
    },
  };
}

// --- internal ---

const GIVEN = 'with given(now, owner) as (select ?, ?)';

/** The owner before has died: what the claim records of it. */
function crashesOf(run: RunRow): Pick<RunRow, 'crashCount' | 'crashSeq'> {
  const { crashCount, crashSeq, seq } = run;
  if (crashSeq !== seq) return { crashCount: 0, crashSeq: seq };
  return { crashCount: crashCount + (run.markEpoch === run.epoch ? 1 : 0), crashSeq };
}
