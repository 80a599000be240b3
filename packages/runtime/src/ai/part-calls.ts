import type { ChatMessage } from '../agents/model/messages.ts';
import type { RunRow, Tokens } from '../engine/journal/run.ts';
import type { ChatReply, EmbedReply, ModelCaller, RerankReply, StepPart } from '../engine/model-calls.ts';
import { addTokens } from '../engine/run/outcome.ts';

/** A call of a model that is a part of a step or a tool, and is over. */
export interface PartCall extends StepPart, AskedModel {
  run: RunRow;
  /** Undefined: it failed. */
  reply: ModelAnswer | undefined;
  /** Of a call that failed. */
  error?: unknown;
  /** What it has used, whatever became of it. Undefined: nothing. */
  tokens: Tokens | undefined;
  /** Milliseconds since 1970. */
  startedAt: number;
  at: number;
}

export type ModelAnswer = ChatReply | EmbedReply | RerankReply;

export interface AskedModel {
  operation: 'chat' | 'embeddings' | 'rerank';
  /** The model that is asked first. */
  model: string;
  /** None, of embeddings and of a rerank. */
  messages: readonly ChatMessage[];
}

export type ObservePart = <T extends ModelAnswer>(
  asked: AskedModel,
  caller: ModelCaller,
  work: (observed: ModelCaller) => Promise<T>,
) => Promise<T>;

/** Notifies of calls that have no record. Those that have one are seen in the journal. */
export function createPartObserver(onPart: (call: PartCall) => void): ObservePart {
  return async (asked, caller, work) => {
    const { part, run } = caller;
    if (!part) return work(caller);
    const startedAt = Date.now();
    let tokens: Tokens | undefined;
    const spend = (used: Tokens): void => {
      tokens = tokens ? addTokens(tokens, used) : used;
      caller.spend(used);
    };
    const end = (how: Pick<PartCall, 'reply' | 'error'>): void =>
      onPart({ ...asked, ...part, ...how, run, tokens, startedAt, at: Date.now() });
    try {
      const reply = await work({ ...caller, spend });
      end({ reply });
      return reply;
    } catch (error) {
      end({ reply: undefined, error });
      throw error;
    }
  };
}
