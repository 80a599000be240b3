import type { Journal } from '../../journal.ts';
import { KEY_LIFE_MS } from './queries.ts';
import { decodeText, RUN_SELECT, toRunRow } from './rows.ts';
import type { StoredRow } from './rows.ts';
import type { Statements } from './statements.ts';
import type { Tables } from './tables.ts';
import { toStoredText } from './text.ts';

/** Of the key of a start that still queues there is no run yet. */
export function createKeyReader({
  tables: { keys, runs },
  query,
  now,
}: Statements): Pick<Journal, 'findByKey' | 'findStartId'> {
  return {
    async findStartId(key) {
      const [use] = await query(keyQuery({ keys }), [toStoredText(key), (await now()) - KEY_LIFE_MS]);
      return use && toKeyUse(use).startId;
    },
    async findByKey(key) {
      const since = (await now()) - KEY_LIFE_MS;
      const [use] = await query(keyQuery({ keys }), [toStoredText(key), since]);
      if (!use) return undefined;
      const id = use.startId ?? null;
      const [run] = await query(`select ${RUN_SELECT} from ${runs} where run_id = ? or trigger_id = ?`, [id, id]);
      return run && { run: toRunRow(run), digest: toKeyUse(use).digest };
    },
  };
}

/** The start a key was used for: the id of a run, or of a start that has queued. */
export interface KeyUse {
  digest: string;
  startId: string;
  /** The run, or the start, with which it is forgotten; null: after 24 hours. */
  keptWith: string | null;
}

/** Parameters: the key, and the time from which keys count that are kept with nothing. */
export function keyQuery({ keys }: Pick<Tables, 'keys'>): string {
  return `select digest, start_id as "startId", kept_with as "keptWith" from ${keys}
    where key = ? and (created_at > ? or kept_with is not null)`;
}

export function toKeyUse(row: StoredRow): KeyUse {
  return decodeText(row) as unknown as KeyUse;
}
