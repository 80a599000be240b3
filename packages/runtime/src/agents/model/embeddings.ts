import type { ProviderInUse } from '../../provider/provider.ts';
import { createJsonCalls } from './json-calls.ts';
import { wrongAnswer } from './provider-error.ts';

export interface EmbedRequest {
  model: string;
  /** None of them empty. */
  input: readonly string[];
  dimensions?: number | undefined;
  /** Milliseconds the whole call may take. Default: 10 minutes. */
  timeout?: number | undefined;
  /** How often a request that failed is sent again. Default: 2. */
  maxRetries?: number | undefined;
}

export interface Embedded {
  /** One for each text, in their order. */
  vectors: number[][];
  inputTokens: number;
  /** The model that answered, as its provider names it. */
  model?: string;
}

export interface EmbedCallOptions {
  signal: AbortSignal;
  /** Called for each batch with the tokens it has used. */
  onTokens(tokens: number): void;
}

/** Asks the provider for vectors, a batch of texts after the other. Throws a ProviderError with the provider's status. */
export type CallEmbeddings = (request: EmbedRequest, options: EmbedCallOptions) => Promise<Embedded>;

/** @param headersOf asked for each call, in the step that makes it */
export function createEmbeddingsClient(
  getProvider: () => Promise<ProviderInUse>,
  headersOf: () => Record<string, string> = () => ({}),
): CallEmbeddings {
  const call = createJsonCalls(getProvider, headersOf);
  return ({ model, input, dimensions, timeout, maxRetries }, { signal, onTokens }) =>
    call({ path: '/embeddings', timeout, maxRetries, signal }, async (ask) => {
      const all: Embedded = { vectors: [], inputTokens: 0 };
      for (const batch of toBatches(input)) {
        const answer = await ask({ model, input: batch, ...(dimensions === undefined ? {} : { dimensions }) });
        const { vectors, inputTokens, answeredBy } = readVectors(answer, batch.length);
        all.vectors.push(...vectors);
        all.inputTokens += inputTokens;
        onTokens(inputTokens);
        if (answeredBy !== undefined) all.model ??= answeredBy;
      }
      return all;
    });
}

/** As many texts as every provider takes at once: so many of them, and so long together. */
export function toBatches(texts: readonly string[]): string[][] {
  const batches: string[][] = [];
  let size = 0;
  for (const text of texts) {
    const batch = batches.at(-1);
    const isFull = !batch || batch.length >= MOST_TEXTS || size + text.length > MOST_CHARACTERS;
    if (isFull) batches.push([text]);
    else batch.push(text);
    size = (isFull ? 0 : size) + text.length;
  }
  return batches;
}

// --- internal ---

const MOST_TEXTS = 96;
/** Some 50,000 tokens; a longer text goes alone. */
const MOST_CHARACTERS = 200_000;

function readVectors(answer: unknown, texts: number) {
  const { data, usage, model } = (answer ?? {}) as { data?: unknown; usage?: unknown; model?: unknown };
  if (!Array.isArray(data)) throw wrongAnswer('It answered without "data", the list of vectors.');
  if (data.length !== texts) throw wrongAnswer(`It answered ${data.length} vectors for ${texts} texts.`);
  const vectors: number[][] = [];
  for (const [position, item] of data.entries()) {
    const { index = position, embedding } = (item ?? {}) as { index?: unknown; embedding?: unknown };
    const isFree = Number.isInteger(index) && (index as number) < texts && vectors[index as number] === undefined;
    if (!isFree || !isVector(embedding)) throw wrongAnswer(`Vector ${position} of its answer is none.`);
    vectors[index as number] = embedding;
  }
  const { prompt_tokens: tokens, total_tokens: total } = (usage ?? {}) as Record<string, unknown>;
  const counted = [tokens, total].find((value) => typeof value === 'number' && Number.isFinite(value));
  const answeredBy = typeof model === 'string' && model !== '' ? model : undefined;
  return { vectors, inputTokens: (counted as number | undefined) ?? 0, answeredBy };
}

function isVector(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'number');
}
