import { createHash } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { toBatches } from '../agents/model/embeddings.ts';
import type { CallEmbeddings } from '../agents/model/embeddings.ts';
import { BoxError } from '../errors.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { rowsOf, tableOf } from './chunk-table.ts';
import type { IndexRow } from './store.ts';

/** What vectors are made with. */
export type Embedder = Pick<IndexRow, 'model' | 'dimension' | 'isDimensionAsked'>;

/** Vectors by what was embedded. */
export interface Vectors {
  /**
   * Sees to it that there is a vector for each text. What is missing is asked of the model, a batch after the other, and each
   * batch is kept before the next is asked. `onKept`: called after each; false ends it there.
   */
  ensure(texts: ReadonlyMap<string, string>, of: EnsureOptions): Promise<boolean>;
  /** Those that have not been used for so long. */
  forget(days: number): Promise<void>;
}

export interface EnsureOptions {
  index: IndexRow;
  /** Of the collection, it too: what one has of the same model is taken for another. */
  indexes: readonly IndexRow[];
  signal: AbortSignal;
  onKept(): Promise<boolean>;
}

/** What a vector is kept under: a model may come to give other numbers under its name, and what was embedded before stays. */
export function keyOf({ model, dimension, isDimensionAsked }: Embedder, text: string): string {
  return createHash('sha256')
    .update(JSON.stringify([model, dimension, isDimensionAsked]))
    .update('\0')
    .update(text)
    .digest('base64url');
}

/** Vectors of both can be compared. */
export function isSame(one: Embedder, other: Embedder): boolean {
  return (
    one.model === other.model && one.dimension === other.dimension && one.isDimensionAsked === other.isDimensionAsked
  );
}

/** Asks the model. Throws what the provider refuses, and `model_provider_failed` for vectors of another kind. */
export async function embedTexts(
  call: CallEmbeddings,
  { model, dimension, isDimensionAsked }: Embedder,
  { input, signal, timeout = EMBED_MS }: { input: readonly string[]; signal: AbortSignal; timeout?: number },
): Promise<number[][]> {
  const dimensions = isDimensionAsked ? dimension : undefined;
  const { vectors } = await call({ model, input, dimensions, timeout }, { signal, onTokens: () => {} });
  for (const vector of vectors) requireDimension(model, dimension, vector.length);
  return vectors;
}

export function requireDimension(model: string, wanted: number, got: number): void {
  if (got === wanted) return;
  throw new BoxError(
    'model_provider_failed',
    `The model "${model}" answered a vector of ${got} numbers, and the collection has ${wanted}. Re-embed it with rag.collections.reindex, or make another.`,
  );
}

export function createVectors(db: Drizzle, call: CallEmbeddings): Vectors {
  /** Those of the keys there is no vector for. The others are not forgotten for now. */
  const missing = async (keys: readonly string[], { index, indexes }: EnsureOptions): Promise<string[]> => {
    const known = new Set<string>();
    const alike = indexes.filter((other) => isSame(other, index));
    for (let from = 0; from < keys.length; from += KEYS) {
      const asked = JSON.stringify(keys.slice(from, from + KEYS));
      const wanted = sql`(select jsonb_array_elements_text(${asked}::jsonb))`;
      // What an index has is copied, where it is not kept any more.
      for (const { id } of alike)
        await db.execute(sql`
          insert into svc.rag_vectors (key, embedding)
          select distinct on (key) key, embedding::real[] from ${tableOf({ indexId: id })} c
          where key in ${wanted} and not exists (select 1 from svc.rag_vectors v where v.key = c.key)
          on conflict (key) do nothing`);
      const rows = await rowsOf<{ key: string }>(
        db,
        sql`update svc.rag_vectors set used_at = now() where key in ${wanted} returning key`,
      );
      for (const { key } of rows) known.add(key);
    }
    return keys.filter((key) => !known.has(key));
  };
  const keep = async (keys: readonly string[], vectors: readonly number[][]): Promise<void> => {
    const rows = keys.map((key, at) => ({ key, embedding: vectors[at] }));
    await db.execute(sql`
      insert into svc.rag_vectors (key, embedding)
      select key, embedding from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as v (key text, embedding real[])
      on conflict (key) do update set embedding = excluded.embedding, used_at = now()`);
  };
  return {
    async ensure(texts, options) {
      const { index, signal, onKept } = options;
      const keys = await missing([...texts.keys()], options);
      let from = 0;
      for (const input of toBatches(keys.map((key) => texts.get(key) ?? ''))) {
        const vectors = await embedTexts(call, index, { input, signal });
        await keep(keys.slice(from, from + input.length), vectors);
        from += input.length;
        if (!(await onKept())) return false;
      }
      return true;
    },
    async forget(days) {
      await db.execute(sql`delete from svc.rag_vectors where used_at < now() - make_interval(days => ${days}::int)`);
    },
  };
}

// --- internal ---

const EMBED_MS = 120_000;
/** Keys of one statement. */
const KEYS = 2_000;
