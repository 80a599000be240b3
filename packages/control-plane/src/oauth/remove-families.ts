import type { Db } from '../store/db.ts';
import { raw, sql, taking } from '../store/sql.ts';

/**
 * Ends every session of command lines of a person or an organisation that is to be deleted, and removes their refresh
 * tokens, of which there may be many, in small parts: on SQLite whoever asks meanwhile waits for the one that is under way.
 */
export async function removeFamilies(
  db: Db,
  { of, id, now }: { of: 'user' | 'organization'; id: string; now: number },
): Promise<void> {
  const own = sql`${raw(of)}_id = ${id}`;
  await db.run(taking(sql`update plane_families set ended_at = ${now} where ${own} and ended_at is null`));
  const part = sql`delete from plane_refresh_tokens where token_hash in (select r.token_hash from plane_refresh_tokens r
    join plane_families f on f.id = r.family_id where f.${own} limit ${PART})`;
  while ((await db.run(part)) > 0);
}

// --- internal ---

const PART = 500;
