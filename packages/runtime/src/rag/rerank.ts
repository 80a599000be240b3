import { ProviderError } from '../agents/model/provider-error.ts';
import type { RagHit } from '../engine/rag-calls.ts';
import type { Asking, Found } from './asking.ts';
import { toEmbedded } from './cutting/cut.ts';

export interface RerankOptions {
  model: string;
  query: string;
  topK: number;
  /** Milliseconds the model has. Default: ten seconds. */
  timeout?: number | undefined;
  ask: Asking['rerank'];
}

/** Chunks of a search that the model is shown, unless more are wanted. */
export const CANDIDATES = 50;

/**
 * Puts hits in the order a rerank model gives them. A provider that fails, refuses or takes longer than ten seconds leaves the
 * order of the search: a worse answer is better than none.
 */
export async function rerankHits(
  hits: readonly RagHit[],
  { model, query, topK, ask, timeout = RERANK_MS }: RerankOptions,
): Promise<Found> {
  const left = (error: string | null): Found => ({
    hits: hits.slice(0, topK),
    rerank: { model, applied: error === null, error },
  });
  if (hits.length === 0) return left(null);
  const documents = hits.map(({ text, place }) => toEmbedded({ text, headings: place.headings }).slice(0, CHARACTERS));
  try {
    const { ranking } = await ask({ model, query, documents, topN: topK, timeout, maxRetries: 1 });
    const scores = new Map(ranking.map(({ index, score }) => [index, score]));
    const ranked = ranking.flatMap(({ index, score }) => toRanked(hits[index], score));
    // Those it says nothing of come behind, as the search has them.
    const others = hits.filter((_, index) => !scores.has(index));
    return { ...left(null), hits: [...ranked, ...others].slice(0, topK) };
  } catch (error) {
    if (error instanceof ProviderError) return left(error.code === 'model_timeout' ? tooLong(timeout) : error.message);
    throw error;
  }
}

// --- internal ---

const RERANK_MS = 10_000;
/** Of a chunk, which has some 8,000 at most. */
const CHARACTERS = 10_000;

function tooLong(ms: number): string {
  return `The rerank model did not answer within ${ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`}.`;
}

function toRanked(hit: RagHit | undefined, rerankScore: number): RagHit[] {
  return hit ? [{ ...hit, rerankScore }] : [];
}
