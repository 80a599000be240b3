import type { RagSearchOptions } from '../engine/rag-calls.ts';
import { BoxError } from '../errors.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { Asking, Found } from './asking.ts';
import type { CommonWords } from './common-words.ts';
import { CANDIDATES, rerankHits } from './rerank.ts';
import { searchChunks } from './search-statement.ts';
import type { Opened } from './store.ts';
import { requireDimension } from './vectors.ts';

export interface SearchOptions extends RagSearchOptions {
  query: string;
}

export interface SearchModels {
  asking: Asking;
  commonWords: CommonWords;
  /** Of the workspace. */
  rerankModel: string | undefined;
  /** How long a rerank may take. */
  rerankMs?: number | undefined;
}

/** Searches the index of a collection that answers. Throws `model_not_selected` where a rerank has no model. */
export async function searchOpened(
  db: Drizzle,
  { collection, index }: Opened,
  { query, topK = 5, filter, mode = 'hybrid', rerank = collection.rerankModel !== null }: SearchOptions,
  { asking, commonWords, rerankModel, rerankMs }: SearchModels,
): Promise<Found> {
  const model = rerank ? (collection.rerankModel ?? rerankModel ?? noRerankModel()) : undefined;
  const vector = mode === 'text' ? undefined : await embedQuery(index, query, asking);
  const table = { indexId: index.id, dimension: index.dimension };
  const wanted = model === undefined ? topK : Math.max(topK, CANDIDATES);
  const byWords = mode !== 'vector';
  const common = byWords ? await commonWords.of(index.id) : [];
  const search = { query, vector, byWords, topK: wanted, filter, common };
  const hits = await searchChunks(db, table, search);
  return model === undefined
    ? { hits, rerank: null }
    : rerankHits(hits, { model, query, topK, ask: asking.rerank, timeout: rerankMs });
}

// --- internal ---

const QUERY_MS = 30_000;

async function embedQuery(index: Opened['index'], query: string, { embed }: Asking): Promise<number[]> {
  const { model, dimension, isDimensionAsked } = index;
  const dimensions = isDimensionAsked ? dimension : undefined;
  const { vectors } = await embed({ model, input: [query], dimensions, timeout: QUERY_MS });
  const [vector = []] = vectors;
  requireDimension(model, dimension, vector.length);
  return vector;
}

function noRerankModel(): never {
  throw new BoxError(
    'model_not_selected',
    'No rerank model is selected. Give the collection one as "rerankModel", or set "rerankModel" in svc.config.ts.',
  );
}
