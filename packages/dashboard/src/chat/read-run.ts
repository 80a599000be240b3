import type { AgentEvent } from '@svc/runtime/client';
import { newId } from '../api/new-id.ts';
import type { ChatMessage } from './message.ts';
import { readData } from './sse.ts';

/** Sends JSON to a path of the box. Throws what the box refuses, with its `status`. */
export type Post = (
  path: string,
  body: unknown,
  options: { headers: Record<string, string>; signal: AbortSignal | undefined },
) => Promise<Response>;

/** What happens to a call that waits. */
export interface ResumeEntry {
  interruptId: string;
  status: 'resolved';
  payload: { decision: 'approve' | 'edit' | 'reject'; note?: string; input?: unknown };
}

/** What a page brings along: tools that it runs itself, and where the person is. */
export interface Brought {
  tools?: readonly { name: string; description: string; parameters: Record<string, unknown> }[];
  context?: readonly { description: string; value: string }[];
}

export interface RunRequest extends Brought {
  /** Sent as it is. */
  forwardedProps?: Record<string, unknown> | undefined;
  agent: string;
  threadId: string;
  /** The whole conversation with what is new; none: it is read, and a turn that is under way is followed. */
  messages: readonly ChatMessage[];
  resume?: readonly ResumeEntry[];
}

export interface ReadOptions {
  signal?: AbortSignal;
  /** Called when the connection broke off, before it is made again. */
  onLost?(): void;
  /** Default: half a second more each time, up to five. */
  pause?(failures: number, signal: AbortSignal | undefined): Promise<void>;
}

/**
 * The events of one run, up to the one that ends it. A connection that breaks off is made again: under its key the box
 * streams the same turn from its beginning, so an event may come twice.
 */
export async function* readRun(post: Post, request: RunRequest, options: ReadOptions = {}): AsyncGenerator<AgentEvent> {
  const { signal, onLost, pause = pauseLonger } = options;
  const { agent, ...asked } = request;
  const key = newId();
  const path = `/agui/v1/agents/${encodeURIComponent(agent)}`;
  let isBegun = false;
  for (let failures = 0; ;) {
    try {
      const { body } = await post(path, { ...asked, runId: key }, { headers: { 'idempotency-key': key }, signal });
      isBegun = true;
      if (body)
        for await (const data of readData(body)) {
          const event = JSON.parse(data) as AgentEvent;
          if (isShutdown(event) && failures < MOST_FAILURES) break;
          failures = 0;
          yield event;
          if (event.type === 'RUN_FINISHED' || event.type === 'RUN_ERROR') return;
        }
      throw new TypeError('The answer broke off before its end.');
    } catch (error) {
      // What is refused at first is refused.
      if (!isBegun || !isPassing(error) || signal?.aborted || ++failures > MOST_FAILURES) throw error;
      onLost?.();
      await pause(failures, signal);
    }
  }
}

// --- internal ---

/** In a row, without anything new: more than half a minute. */
const MOST_FAILURES = 10;

/** The turn goes on in the next process of the box. */
function isShutdown(event: AgentEvent): boolean {
  return event.type === 'RUN_ERROR' && event.code === 'shutting_down';
}

/** The box, or a proxy in front of it, is away for a while. */
function isPassing(error: unknown): boolean {
  const { status } = (error ?? {}) as { status?: unknown };
  return typeof status === 'number' ? status >= 502 && status <= 504 : error instanceof TypeError;
}

function pauseLonger(failures: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      },
      Math.min(500 * failures, 5_000),
    );
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
