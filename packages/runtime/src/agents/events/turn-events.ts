/**
 * The one ordered stream of a turn. Wires translate it and decide nothing; so do recording and live views.
 *
 * Rules: nothing before `turn.start`; every start has its end before the terminal event; parts of one model call do
 * not overlap; exactly one terminal event, `finish` or `error`; `usage` comes before `finish`.
 */
export type TurnEvent =
  | {
      type: 'turn.start';
      turnId: string;
      runId: string;
      /** Null: a stateless turn. */
      sessionId: string | null;
      agent: string;
      startedAt: number;
    }
  | { type: 'step.start'; step: number }
  | { type: 'step.end'; step: number }
  | { type: 'reasoning.start'; id: string }
  | { type: 'reasoning.delta'; id: string; text: string }
  | { type: 'reasoning.end'; id: string }
  | { type: 'text.start'; id: string }
  | { type: 'text.delta'; id: string; text: string }
  | { type: 'text.end'; id: string }
  /**
   * What the provider says of the tokens of the next `text.delta`, where the request asks for it. Not recorded: a turn that is
   * replayed has none. `size`: in characters, as JSON.
   */
  | { type: 'text.logprobs'; tokens: readonly unknown[]; size: number }
  /** `messageId`: the assistant message the call is part of. A `client` call is for the client to run. */
  | { type: 'tool.start'; callId: string; name: string; messageId: string; executor: Executor }
  | { type: 'tool.args'; callId: string; delta: string }
  | { type: 'tool.end'; callId: string; args: string }
  /** Of a call the box ran, also of one that waited for a person. `messageId`: the tool message that carries it. */
  | {
      type: 'tool.result';
      callId: string;
      messageId: string;
      content: string;
      isError: boolean;
      /** The approval that was rejected, for which the call was not run. */
      rejected?: string;
      durationMs: number;
    }
  | ({ type: 'interrupt' } & Interrupt)
  /** What the agent keeps beside its messages: its plan, its files. */
  | { type: 'state'; snapshot: Record<string, unknown> }
  | ({ type: 'usage'; model: string } & Usage)
  | { type: 'finish'; reason: FinishReason }
  /** `retryAfter`: seconds, where whoever failed asked for a wait. */
  | { type: 'error'; status: number; code: string; message: string; retryable: boolean; retryAfter?: number };

export type Executor = 'box' | 'client';

/** A tool call, or a text that a guardrail holds, that waits for a person. */
export interface Interrupt {
  /** The id of the approval that decides it. */
  id: string;
  /**
   * The call itself, or the one whose result waits; of a sub-agent's, the call that handed it its task. Absent: what waits
   * is of no call.
   */
  callId?: string;
  /** Of a text of no call: it waits behind this call of the model; 0: before the first. */
  step?: number;
  /** The sub-agent whose call it is. Absent: the turn's own. */
  agent?: string;
  /** The tool. Absent: a text waits. */
  name?: string;
  /** The arguments the model wrote, parsed. Absent: a text waits. */
  args?: unknown;
  message: string;
  allow: readonly ('approve' | 'edit' | 'reject')[];
  /** JSON Schema of a decision. */
  responseSchema: Record<string, unknown>;
  /** Milliseconds since 1970; absent: it waits for ever. */
  expiresAt?: number;
}

/** Cumulative over the turn; `inputTokens` includes what was read from a cache. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
}

export const NO_USAGE: Readonly<Usage> = Object.freeze({
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
});

/** `tool_calls`: the client is to run its tools. `interrupt`: a person is to decide. */
export type FinishReason = 'stop' | 'length' | 'content_filter' | 'tool_calls' | 'interrupt' | 'cancelled';

export type Emit = (event: TurnEvent) => void;

/** The events of a turn, as many at once as there are: a long answer is thousands of them. */
export type EventBatches = AsyncIterable<readonly TurnEvent[]>;

/** All there are, once the turn has ended. */
export async function readAll(batches: EventBatches): Promise<TurnEvent[]> {
  const all: TurnEvent[] = [];
  // One by one: there may be more than a call takes arguments.
  for await (const batch of batches) for (const event of batch) all.push(event);
  return all;
}

/** One by one. */
export async function* flatten(batches: EventBatches): AsyncGenerator<TurnEvent> {
  for await (const batch of batches) yield* batch;
}

export function isTerminal(event: TurnEvent | undefined): boolean {
  return event?.type === 'finish' || event?.type === 'error';
}
