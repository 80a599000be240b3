import type { ReplicaStore } from '../../journal/replicas.ts';
import type { Statements } from './statements.ts';
import { fromStoredText, toStoredText } from './text.ts';

export function createReplicaStore({ tables, query, commit, now }: Statements): ReplicaStore {
  const { replicas } = tables;
  return {
    async announce({ owner, leaseMs, codes }) {
      const at = await now();
      await commit([
        [
          `insert into ${replicas} (owner, lease_until, codes) values (?, ?, ?)
          on conflict (owner) do update set lease_until = excluded.lease_until, codes = excluded.codes`,
          [toStoredText(owner), at + leaseMs, toStoredText(JSON.stringify(codes))],
        ],
        [`delete from ${replicas} where lease_until < ?`, [at - FORGOTTEN_MS]],
      ]);
    },
    async listCodesOfOthers(owner) {
      const sql = `select codes as "codes" from ${replicas} where owner <> ? and lease_until > ?`;
      const rows = await query(sql, [toStoredText(owner), await now()]);
      return [...new Set(rows.flatMap(({ codes }) => JSON.parse(fromStoredText(codes as string)) as string[]))];
    },
    leave: (owner) => commit([[`delete from ${replicas} where owner = ?`, [toStoredText(owner)]]]),
  };
}

// --- internal ---

/** How long a replica that is gone is kept: a clock that is set back brings back none that lives. */
const FORGOTTEN_MS = 60 * 60 * 1000;
