import type { ProviderInUse } from '../../provider/provider.ts';
import { createJsonCalls } from './json-calls.ts';
import { wrongAnswer } from './provider-error.ts';

export interface RerankRequest {
  model: string;
  query: string;
  /** Texts, none of them empty. */
  documents: readonly string[];
  /** How many of them are wanted. */
  topN: number;
  /** Milliseconds the whole call may take. Default: 10 minutes. */
  timeout?: number | undefined;
  /** How often a request that failed is sent again. Default: 2. */
  maxRetries?: number | undefined;
}

export interface Reranked {
  /** Each once at most, the most relevant first. `score` has no scale but that of the model. */
  ranking: { index: number; score: number }[];
  /** 0: the provider does not say. */
  inputTokens: number;
  /** The model that answered, as its provider names it. */
  model?: string;
}

/** Asks the provider how relevant texts are to a query. Throws a ProviderError with the provider's status. */
export type CallRerank = (request: RerankRequest, options: { signal: AbortSignal }) => Promise<Reranked>;

/** @param headersOf asked for each call, in the step that makes it */
export function createRerankClient(
  getProvider: () => Promise<ProviderInUse>,
  headersOf: () => Record<string, string> = () => ({}),
): CallRerank {
  const call = createJsonCalls(getProvider, headersOf);
  return ({ model, query, documents, topN, timeout, maxRetries }, { signal }) =>
    call({ path: '/rerank', timeout, maxRetries, signal }, async (ask) =>
      readRanking(await ask({ model, query, documents, top_n: Math.min(topN, documents.length) }), documents.length),
    );
}

// --- internal ---

function readRanking(answer: unknown, documents: number): Reranked {
  const { results, model } = (answer ?? {}) as { results?: unknown; model?: unknown };
  if (!Array.isArray(results)) throw wrongAnswer('It answered without "results", the ranking of the documents.');
  const ranking = new Map<number, number>();
  for (const [position, item] of results.entries()) {
    const { index, relevance_score: score } = (item ?? {}) as { index?: unknown; relevance_score?: unknown };
    const isOne = Number.isInteger(index) && (index as number) >= 0 && (index as number) < documents;
    if (!isOne || ranking.has(index as number) || typeof score !== 'number' || !Number.isFinite(score))
      throw wrongAnswer(`Result ${position} of its ranking is none.`);
    ranking.set(index as number, score);
  }
  return {
    ranking: [...ranking].map(([index, score]) => ({ index, score })).sort((a, b) => b.score - a.score),
    inputTokens: tokensOf(answer),
    ...(typeof model === 'string' && model !== '' ? { model } : {}),
  };
}

/** Where providers say it: `usage` of Jina and vLLM, `meta` of Cohere and LiteLLM. */
function tokensOf(answer: unknown): number {
  const { usage, meta } = answer as { usage?: Record<string, unknown>; meta?: { tokens?: Record<string, unknown> } };
  const reported = [usage?.['prompt_tokens'], usage?.['total_tokens'], meta?.tokens?.['input_tokens']];
  return (reported.find((value) => typeof value === 'number' && Number.isFinite(value) && value > 0) as number) ?? 0;
}
