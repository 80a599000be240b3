import type { AgentEvent } from '@svc/runtime/client';
import { newId } from '../api/new-id.ts';
import type { ChatMessage } from './message.ts';
import { readRun } from './read-run.ts';
import type { Brought, Post, ResumeEntry } from './read-run.ts';
import { applyEvent, applyFailure, EMPTY, findCall, toSent } from './thread.ts';
import type { Thread } from './thread.ts';

/** A conversation with an agent, as a page holds it. */
export interface Chat {
  readonly threadId: string;
  get(): ChatState;
  onChange(listener: () => void): () => void;
  /** Reads what the box has of it, and follows a turn that is under way. */
  open(): Promise<void>;
  say(text: string): Promise<void>;
  /** Begins with what was said in another conversation. */
  begin(messages: readonly ChatMessage[], text: string): Promise<void>;
  /** Says something else in place of a message: what stood behind it is forgotten. */
  replace(messageId: string, text: string): Promise<void>;
  /** Goes on with the calls that wait: all of them at once. */
  decide(entries: readonly ResumeEntry[]): Promise<void>;
  stop(): Promise<void>;
  leave(): void;
}

export interface ChatState {
  thread: Thread;
  /** Until what the box has is there. */
  isOpening: boolean;
  /** The connection broke off, and is made again. */
  isLost: boolean;
  /** Why the conversation could not be read, or an answer not be given. */
  failure: unknown;
}

export type PausedThread = Pick<Thread, 'messages' | 'interrupts' | 'turns' | 'state'>;

/** A page that runs tools for the agent. */
export interface ChatPage {
  /** Sent with each turn. */
  bring(): Brought;
  /** Answers what the agent reads of it. */
  run(name: string, args: unknown): Promise<unknown>;
}

export interface ChatOptions {
  agent: string;
  threadId: string;
  post: Post;
  stop(path: string): Promise<unknown>;
  /**
   * A conversation whose turn waits for a person: it cannot be read on before someone has decided. Undefined: it does not
   * wait.
   */
  readPaused(): Promise<PausedThread | undefined>;
  /** Sent with each turn. */
  forwardedProps?: Record<string, unknown>;
  /** What the agent may have done here. Undefined: nothing. */
  page?: ChatPage | undefined;
  /** Gathers what comes, until it is called back. */
  soon(flush: () => void): void;
  now?(): number;
}

export function createChat(options: ChatOptions): Chat {
  const { agent, threadId, post, page, forwardedProps, now = Date.now, soon } = options;
  const listeners = new Set<() => void>();
  const leaving = new AbortController();
  let state: ChatState = { thread: EMPTY, isOpening: false, isLost: false, failure: undefined };
  let reading: Promise<void> | undefined;
  /** A turn was asked for here, so the calls that end it are run here. */
  let isAsking = false;

  const set = (change: Partial<ChatState>): void => {
    state = { ...state, ...change };
    for (const listener of listeners) listener();
  };
  const { take, flush } = gather(soon, now, (arrived) => {
    const thread = arrived.reduce((one, { event, at }) => applyEvent(one, event, at), state.thread);
    const goesOn = isAsking && page !== undefined && thread.pending.length > 0;
    set({ thread: goesOn ? { ...thread, status: 'running' } : thread, isLost: false, isOpening: false });
  });
  const read = async (messages: readonly ChatMessage[], resume?: readonly ResumeEntry[]): Promise<void> => {
    const request = { agent, threadId, messages, forwardedProps, ...page?.bring(), ...(resume ? { resume } : {}) };
    const onLost = (): void => set({ isLost: true });
    for await (const event of readRun(post, request, { signal: leaving.signal, onLost })) take(event);
    flush();
  };
  /** A turn, and those behind it that answer what the page was to run. */
  const readAll = async (messages: readonly ChatMessage[], resume?: readonly ResumeEntry[]): Promise<void> => {
    isAsking = true;
    try {
      await read(messages, resume);
      while (state.thread.pending.length > 0) {
        const results = await runPending(page, state.thread);
        if (results.length === 0) return;
        const { thread } = state;
        set({ thread: { ...thread, status: 'running', pending: [], messages: [...thread.messages, ...results] } });
        await read(results);
      }
    } finally {
      isAsking = false;
    }
  };
  /** One at a time. What fails is shown, unless no one looks any more. */
  const reads = (reader: () => Promise<void>, onFailure: (error: unknown) => Promise<void> | void): Promise<void> => {
    reading ??= reader()
      .catch(async (error: unknown) => {
        flush();
        if (!leaving.signal.aborted) await onFailure(error);
      })
      .finally(() => (reading = undefined));
    return reading;
  };
  const ask = (messages: readonly ChatMessage[], sent = toSent({ ...state.thread, messages })): Promise<void> => {
    if (reading) return reading;
    set({ thread: { ...state.thread, messages, status: 'running', error: undefined }, failure: undefined });
    return reads(
      () => readAll(sent),
      (error) => set({ thread: applyFailure(state.thread, toError(error)), isLost: false }),
    );
  };

  return {
    threadId,
    get: () => state,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    open() {
      set({ isOpening: true, failure: undefined });
      return reads(
        async () => {
          const paused = await options.readPaused();
          if (paused) set({ isOpening: false, thread: { ...EMPTY, ...paused, status: 'paused' } });
          else await read([]);
        },
        (error) => {
          // Nothing has been said in it.
          const isNew = NOTHING.has((error as { code?: unknown } | null)?.code);
          set({ isOpening: false, isLost: false, failure: isNew ? undefined : error });
        },
      );
    },
    say(text) {
      const message = toMessage(text);
      const { messages, pending } = state.thread;
      const late = page ? pending.map((id) => toResult(id, LATE)) : [];
      // Alone: so what was said elsewhere meanwhile stays, and comes.
      return ask([...messages, ...late, message], [...late, message]);
    },
    begin: (messages, text) => ask([...messages, toMessage(text)]),
    replace(messageId, text) {
      const { messages } = state.thread;
      const at = messages.findIndex(({ id }) => id === messageId);
      // Under its own id: so the box knows that it is this one.
      return ask([...messages.slice(0, at), { id: messageId, role: 'user', content: text }]);
    },
    decide(entries) {
      if (reading) return reading;
      const before = state.thread;
      set({ thread: { ...before, status: 'running' }, failure: undefined });
      return reads(
        () => readAll(toSent(before), entries),
        (error) => {
          // Refused before anything was decided: it still waits.
          const isRefused = state.thread.interrupts === before.interrupts;
          if (isRefused) set({ thread: { ...state.thread, status: 'paused' }, failure: error, isLost: false });
          else set({ thread: applyFailure(state.thread, toError(error)), isLost: false });
        },
      );
    },
    async stop() {
      try {
        await options.stop(`/agui/v1/agents/${encodeURIComponent(agent)}/${encodeURIComponent(threadId)}/stream`);
      } catch (failure) {
        set({ failure });
      }
    },
    leave: () => leaving.abort(),
  };
}

// --- internal ---

/** What the box says of a conversation that has not begun. */
const NOTHING = new Set<unknown>(['session_not_found', 'invalid_request']);

/** Of a call that no one was there to run. */
const LATE = { refused: true, reason: 'The page was closed or reloaded before it was done.' };

interface Arrived {
  event: AgentEvent;
  at: number;
}

/** What comes at once is applied at once. */
function gather(soon: ChatOptions['soon'], now: () => number, apply: (arrived: readonly Arrived[]) => void) {
  let arrived: Arrived[] = [];
  const flush = (): void => {
    const all = arrived;
    arrived = [];
    if (all.length > 0) apply(all);
  };
  const take = (event: AgentEvent): void => {
    if (arrived.length === 0) soon(flush);
    arrived.push({ event, at: now() });
  };
  return { take, flush };
}

function toResult(callId: string, result: unknown): ChatMessage {
  return { id: `${callId}-result`, role: 'tool', toolCallId: callId, content: JSON.stringify(result) };
}

/** What the calls answer that are left to the page: none, where it runs none. */
async function runPending(page: ChatPage | undefined, thread: Thread): Promise<ChatMessage[]> {
  const results: ChatMessage[] = [];
  for (const id of page ? thread.pending : []) {
    const call = findCall(thread, id)?.function;
    try {
      results.push(toResult(id, await page?.run(call?.name ?? '', JSON.parse(call?.arguments || '{}'))));
    } catch (error) {
      results.push(toResult(id, { refused: true, reason: (error as Error).message }));
    }
  }
  return results;
}

function toMessage(text: string): ChatMessage {
  return { id: newId(), role: 'user', content: text };
}

function toError(error: unknown): { code: string; message: string } {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  const text = typeof message === 'string' && message !== '' ? message : 'The box does not answer.';
  return { code: typeof code === 'string' ? code : 'unreachable', message: text };
}
