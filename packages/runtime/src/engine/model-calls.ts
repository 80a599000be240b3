import type { RunRow, Spent, Tokens } from './journal/run.ts';

/** What code asks a model besides the turns of agents. */
export interface ChatAsked {
  /** Default: the model of the workspace. */
  model?: string | undefined;
  messages: readonly ChatAskedMessage[];
  /** Passed on to the provider as they are. */
  parameters: Record<string, unknown>;
  /** Milliseconds the whole call may take. */
  timeout?: number | undefined;
  maxRetries?: number | undefined;
  fallbackModels?: readonly string[] | undefined;
}

export interface ChatAskedMessage {
  role: 'system' | 'user' | 'assistant';
  content: unknown;
}

/** What the answer has to be; one that is not is asked for again, once. */
export interface AnswerRule {
  /** JSON Schema. */
  schema: Record<string, unknown>;
  /** `text`: the JSON alone. */
  check(content: string): Promise<{ ok: true; text: string } | { ok: false; issues: string }>;
}

/** What models have used; `inputTokens` includes what was read from a cache. */
export interface ModelUsage extends Tokens {
  reasoningTokens: number;
}

/** The answer of a model, as a run records it. */
export interface ChatReply {
  content: string;
  reasoning: string;
  finishReason: string;
  usage: ModelUsage;
  /** The model that was asked in the end. */
  asked: string;
  /** The model that answered, as its provider names it. */
  model: string;
}

export interface EmbedAsked {
  /** Default: the embedding model of the workspace. */
  model?: string | undefined;
  input: readonly string[];
  dimensions?: number | undefined;
  timeout?: number | undefined;
  maxRetries?: number | undefined;
}

export interface EmbedReply {
  /** One for each text, in their order. */
  vectors: number[][];
  usage: ModelUsage;
  asked: string;
  model: string;
}

export interface RerankAsked {
  model: string;
  query: string;
  documents: readonly string[];
  /** How many of them are wanted. */
  topN: number;
  timeout?: number | undefined;
  maxRetries?: number | undefined;
}

export interface RerankReply {
  /** Places in the documents, the most relevant first. */
  ranking: { index: number; score: number }[];
  usage: ModelUsage;
  asked: string;
  model: string;
}

/** The step that asks a model. */
export interface ModelCaller {
  run: RunRow;
  signal: AbortSignal;
  /** Counts what was used for the step, whatever becomes of it. */
  spend(tokens: Spent): void;
  /** Called with the text of the answer as it comes. */
  onText?: ((text: string) => void) | undefined;
  /** Undefined: it is recorded as a call of the run. */
  part?: StepPart | undefined;
}

/** The attempt of a step, or of a tool, that something is a part of without a record of its own. */
export interface StepPart {
  call: number;
  attempt: number;
  stepName: string;
}
