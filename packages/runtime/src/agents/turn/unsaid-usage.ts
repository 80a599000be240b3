import type { TurnEvent } from '../events/turn-events.ts';
import type { CallModel } from '../model/client.ts';
import type { CallEmbeddings } from '../model/embeddings.ts';
import type { CallRerank } from '../model/rerank.ts';
import { estimateTokens } from './context-size.ts';

/**
 * The same calls. `onUnsaid` is called with what one has used, by an estimate, of which no provider says it: the provider leaves it
 * out, or the answer was not read to its end, where it is. A call that was refused has used nothing.
 */
export function withUnsaidUsage(callModel: CallModel, onUnsaid: (tokens: number) => void): CallModel {
  return async (request, reply, signal) => {
    let characters = 0;
    const emit = (event: TurnEvent): void => {
      characters += charactersOf(event);
      reply.emit(event);
    };
    const estimate = (): number =>
      estimateTokens([...request.messages, ...request.tools]) + Math.ceil(characters / CHARACTERS_PER_TOKEN);
    try {
      const answer = await callModel(request, { ...reply, emit }, signal);
      const { inputTokens, outputTokens } = answer.usage;
      if (inputTokens + outputTokens === 0) onUnsaid(estimate());
      return answer;
    } catch (error) {
      // Before its first word it may have been refused, unless no one waited for that.
      if (characters > 0 || signal.aborted) onUnsaid(estimate());
      throw error;
    }
  };
}

/** The same of embeddings: what was asked is all that is used. */
export function withUnsaidInput(callEmbeddings: CallEmbeddings, onUnsaid: (tokens: number) => void): CallEmbeddings {
  return async (asked, how) => {
    const answer = await callEmbeddings(asked, how);
    if (answer.inputTokens === 0) onUnsaid(estimateTexts(asked.input));
    return answer;
  };
}

/** The same of a rerank. */
export function withUnsaidDocuments(callRerank: CallRerank, onUnsaid: (tokens: number) => void): CallRerank {
  return async (asked, how) => {
    const answer = await callRerank(asked, how);
    if (answer.inputTokens === 0) onUnsaid(estimateTexts([asked.query, ...asked.documents]));
    return answer;
  };
}

// --- internal ---

const CHARACTERS_PER_TOKEN = 4;

function charactersOf(event: TurnEvent): number {
  if (event.type === 'text.delta' || event.type === 'reasoning.delta') return event.text.length;
  return event.type === 'tool.args' ? event.delta.length : 0;
}

function estimateTexts(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + Math.ceil(length / CHARACTERS_PER_TOKEN), 0);
}
