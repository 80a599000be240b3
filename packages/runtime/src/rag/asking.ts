import type { EmbedAsked, EmbedReply, RerankAsked, RerankReply } from '../engine/model-calls.ts';
import type { RagHit } from '../engine/rag-calls.ts';

/** What a search asks of models, at the cost of whoever asks. */
export interface Asking {
  embed(asked: EmbedAsked): Promise<Pick<EmbedReply, 'vectors'>>;
  rerank(asked: RerankAsked): Promise<Pick<RerankReply, 'ranking'>>;
}

/** What a search answers. */
export interface Found {
  hits: RagHit[];
  /** Null: no one asked for it. */
  rerank: RerankOutcome | null;
}

/** The outcome of the second look at what a search has found. */
export interface RerankOutcome {
  model: string;
  /** False: the order is that of the search. */
  applied: boolean;
  /** Why it is. */
  error: string | null;
}
