/**
 * The one ordered stream of a turn. Wires translate it and decide nothing; so do recording and live views.
 *
 * Rules: nothing before `turn.start`; every start has its end before the terminal event; parts of one model call do
 * not overlap; exactly one terminal event, `finish` or `error`; `usage` comes before `finish`.
 */
export type TurnEvent =
  | { type: 'turn.start'; turnId: string; runId: string; agent: string; startedAt: number }
  | { type: 'step.start'; step: number }
  | { type: 'step.end'; step: number }
  | { type: 'reasoning.start'; id: string }
  | { type: 'reasoning.delta'; id: string; text: string }
  | { type: 'reasoning.end'; id: string }
  | { type: 'text.start'; id: string }
  | { type: 'text.delta'; id: string; text: string }
  | { type: 'text.end'; id: string }
  | { type: 'tool.start'; callId: string; name: string }
  | { type: 'tool.args'; callId: string; delta: string }
  | { type: 'tool.end'; callId: string; args: string }
  | { type: 'tool.result'; callId: string; content: string; isError: boolean; durationMs: number }
  | ({ type: 'usage' } & Usage)
  | { type: 'finish'; reason: FinishReason }
  /** `retryAfter`: seconds, where whoever failed asked for a wait. */
  | { type: 'error'; status: number; code: string; message: string; retryable: boolean; retryAfter?: number };

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

export type FinishReason = 'stop' | 'length' | 'content_filter' | 'cancelled';

export type Emit = (event: TurnEvent) => void;

/** A stream with one producer and one reader; `push` never waits. */
export interface EventQueue {
  push: Emit;
  /** Ends after the terminal event. */
  events: AsyncIterable<TurnEvent>;
}

export function createEventQueue(): EventQueue {
  const buffer: TurnEvent[] = [];
  let ended = false;
  let wake: (() => void) | undefined;
  return {
    push(event) {
      if (ended) return;
      buffer.push(event);
      ended = isTerminal(event);
      wake?.();
    },
    events: {
      async *[Symbol.asyncIterator]() {
        for (;;) {
          const event = buffer.shift();
          if (event) {
            yield event;
            if (isTerminal(event)) return;
          } else await new Promise<void>((resolve) => (wake = resolve));
        }
      },
    },
  };
}

export function isTerminal(event: TurnEvent): boolean {
  return event.type === 'finish' || event.type === 'error';
}
