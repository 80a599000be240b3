import { sql } from 'drizzle-orm';
import type { Drizzle } from '../stores/drizzle.ts';
import { nameOf, rowsOf } from './chunk-table.ts';

/** Words that stand in many chunks of an index, the most frequent first, as the database has last counted them. */
export interface CommonWords {
  of(indexId: string): Promise<readonly string[]>;
}

export function createCommonWords(db: Drizzle): CommonWords {
  const known = new Map<string, { words: Promise<readonly string[]>; until: number }>();
  return {
    of(indexId) {
      const now = performance.now();
      const before = known.get(indexId);
      if (before && now < before.until) return before.words;
      for (const [id, { until }] of known) if (until <= now) known.delete(id);
      const words = readCommon(db, indexId);
      known.set(indexId, { words, until: now + KNOWN_MS });
      // Asked again by the next search.
      words.catch(() => known.delete(indexId));
      return words;
    },
  };
}

// --- internal ---

/** How long what was read is taken to hold. */
const KNOWN_MS = 60_000;
/** In a larger part of the chunks than this, and in more of them than this, a word distinguishes little and costs much. */
const PART = 0.05;
const ROWS = 2_000;

async function readCommon(db: Drizzle, indexId: string): Promise<readonly string[]> {
  const name = nameOf(indexId);
  // The frequencies are followed by those of all words together, which have no word.
  const rows = await rowsOf<{ word: string }>(
    db,
    sql`select word from pg_stats s
      join pg_class c on c.relname = s.tablename and c.relnamespace = 'svc'::regnamespace,
      unnest(most_common_elems::text::text[], most_common_elem_freqs) as e (word, part)
      where s.schemaname = 'svc' and s.tablename = ${name} and s.attname = 'words'
        and word is not null and part > ${PART}::float8 and part * c.reltuples > ${ROWS}::float8
      order by part desc`,
  );
  return rows.map(({ word }) => word);
}
