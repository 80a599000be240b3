import type { AgentEvent, AgentInterrupt } from '@svc/runtime/client';
import type { AssistantMessage, ChatMessage, ChatToolCall } from './message.ts';
import { growText, startText } from './grow.ts';
import type { Grown } from './grow.ts';

/** `paused`: a person is asked. */
export type ThreadStatus = 'idle' | 'running' | 'paused' | 'failed' | 'cancelled';

/** A conversation as it is shown: made of events alone, so the same events make the same one. */
export interface Thread {
  status: ThreadStatus;
  messages: readonly ChatMessage[];
  /** Ids of the messages, and of the calls, that are being written. */
  open: ReadonlySet<string>;
  /** Ids of the messages of a turn that has failed: the box has not kept them, and they are not sent again. */
  lost: ReadonlySet<string>;
  /** How long a text was thought about, by the id of its message. */
  thought: Readonly<Record<string, { from: number; to?: number }>>;
  turns: readonly Turn[];
  /** The calls that wait for a decision. */
  interrupts: readonly AgentInterrupt[];
  /** Ids of the calls that the page is to run, which ended the turn. */
  pending: readonly string[];
  /** What the agent keeps beside its messages. */
  state: unknown;
  error: { code: string; message: string } | undefined;
  /** Texts that come again after a connection broke off: how much of each has. */
  again: Readonly<Record<string, number>>;
}

/** What was made of one message of a person. */
export interface Turn {
  runId: string;
  startedAt: number;
  endedAt?: number;
  steps: readonly { name: string; from: number; to?: number }[];
  inputTokens: number;
  outputTokens: number;
  finishReason?: string;
}

export const EMPTY: Thread = {
  status: 'idle',
  messages: [],
  open: new Set(),
  lost: new Set(),
  thought: {},
  turns: [],
  interrupts: [],
  pending: [],
  state: undefined,
  error: undefined,
  again: {},
};

/** What of it the box has, and is sent with what is new. */
export function toSent({ messages, lost }: Pick<Thread, 'messages' | 'lost'>): ChatMessage[] {
  return messages.filter(({ id, role }) => !lost.has(id) && role !== 'reasoning');
}

/** @param now when the event came */
export function applyEvent(thread: Thread, event: AgentEvent, now: number): Thread {
  const handler = HANDLERS[event.type as Handled] as Handler | undefined;
  return handler ? handler(thread, event as never, now) : thread;
}

/** The connection, or the box, refuses: what was being made is not known any more. */
export function applyFailure(thread: Thread, error: { code: string; message: string }): Thread {
  return { ...lose(thread), status: 'failed', error, open: new Set() };
}

/** The newest call of that id. */
export function findCall({ messages }: Thread, callId: string): ChatToolCall | undefined {
  const message = messages.findLast(
    (one) => one.role === 'assistant' && one.toolCalls?.some(({ id }) => id === callId) === true,
  );
  return (message as AssistantMessage | undefined)?.toolCalls?.find(({ id }) => id === callId);
}

// --- internal ---

type EventOf<T extends AgentEvent['type']> = Extract<AgentEvent, { type: T }>;
type Handled = Exclude<AgentEvent['type'], 'REASONING_START' | 'REASONING_END' | 'REASONING_ENCRYPTED_VALUE'>;
type Handler = (thread: Thread, event: never, now: number) => Thread;

const HANDLERS: { [T in Handled]: (thread: Thread, event: EventOf<T>, now: number) => Thread } = {
  RUN_STARTED(thread, event, now) {
    const runId = boxRunOf(event);
    const isKnown = runId === undefined || thread.turns.some((turn) => turn.runId === runId);
    const turn: Turn = { runId: runId ?? '', startedAt: now, steps: [], inputTokens: 0, outputTokens: 0 };
    return {
      ...thread,
      status: 'running',
      error: undefined,
      interrupts: [],
      pending: [],
      turns: isKnown ? thread.turns : [...thread.turns, turn],
    };
  },
  RUN_FINISHED(thread, { outcome, usage = [], metadata }, now) {
    const { finishReason } = metadata?.svc ?? {};
    const isOfTurn = thread.turns.at(-1)?.runId === metadata?.svc.runId;
    const ended = endTurn(thread, isOfTurn ? now : undefined, (turn) => ({
      ...turn,
      inputTokens: usage.reduce((sum, { inputTokens }) => sum + inputTokens, turn.inputTokens),
      outputTokens: usage.reduce((sum, { outputTokens }) => sum + outputTokens, turn.outputTokens),
      ...(typeof finishReason === 'string' ? { finishReason } : {}),
    }));
    if (outcome.type === 'interrupt') return { ...ended, status: 'paused', interrupts: outcome.interrupts };
    if (outcome.type === 'cancelled') return { ...lose(ended), status: 'cancelled' };
    return { ...ended, status: 'idle', pending: outcome.pendingToolCallIds ?? [] };
  },
  RUN_ERROR: (thread, { code, message }, now) => applyFailure(endTurn(thread, now), { code, message }),
  STEP_STARTED: (thread, { stepName }, now) =>
    changeTurn(thread, (turn) => ({
      ...turn,
      steps: [...turn.steps.filter(({ name }) => name !== stepName), { name: stepName, from: now }],
    })),
  STEP_FINISHED: (thread, { stepName }, now) =>
    changeTurn(thread, (turn) => ({
      ...turn,
      steps: turn.steps.map((step) => (step.name === stepName && step.to === undefined ? { ...step, to: now } : step)),
    })),
  TEXT_MESSAGE_START: (thread, { messageId: id, role }) => open(ensure(thread, { id, role, content: '' }), id),
  TEXT_MESSAGE_CONTENT: (thread, { messageId, delta }) =>
    writeText(ensure(thread, { id: messageId, role: 'assistant', content: '' }), messageId, delta),
  TEXT_MESSAGE_END: (thread, { messageId }) => close(thread, messageId),
  REASONING_MESSAGE_START(thread, { messageId: id, role }, now) {
    const thought = { ...thread.thought, [id]: thread.thought[id] ?? { from: now } };
    return open({ ...ensure(thread, { id, role, content: '' }), thought }, id);
  },
  REASONING_MESSAGE_CONTENT: (thread, { messageId, delta }) =>
    writeText(ensure(thread, { id: messageId, role: 'reasoning', content: '' }), messageId, delta),
  REASONING_MESSAGE_END(thread, { messageId: id }, now) {
    const { from = now, to = now } = thread.thought[id] ?? {};
    return close({ ...thread, thought: { ...thread.thought, [id]: { from, to } } }, id);
  },
  TOOL_CALL_START(thread, { toolCallId: id, toolCallName: name, parentMessageId }) {
    const parent = ensure(thread, { id: parentMessageId, role: 'assistant' });
    const called = changeMessage(parent, parentMessageId, (message) => {
      const { toolCalls = [] } = message as AssistantMessage;
      if (toolCalls.some((call) => call.id === id)) return message;
      const call = { id, type: 'function' as const, function: { name, arguments: '' } };
      return { ...(message as AssistantMessage), toolCalls: [...toolCalls, call] };
    });
    const call = findCall(called, id);
    return open(called, id, call?.function.arguments.length ?? 0);
  },
  TOOL_CALL_ARGS: (thread, { toolCallId, delta }) =>
    changeCall(thread, toolCallId, (args, at) => growText(args, delta, at)),
  TOOL_CALL_END: (thread, { toolCallId }) => close(thread, toolCallId),
  TOOL_CALL_RESULT(thread, { messageId: id, toolCallId, content, role }) {
    const interrupts = thread.interrupts.filter((interrupt) => interrupt.toolCallId !== toolCallId);
    if (thread.messages.some((message) => message.role === 'tool' && message.toolCallId === toolCallId))
      return { ...thread, interrupts };
    return { ...thread, interrupts, messages: [...thread.messages, { id, role, toolCallId, content }] };
  },
  STATE_SNAPSHOT: (thread, { snapshot }) => ({ ...thread, state: snapshot }),
  // An empty one makes room for the one behind it.
  MESSAGES_SNAPSHOT: (thread, { messages }) =>
    messages.length === 0 ? thread : { ...thread, messages, open: new Set(), again: {} },
};

function boxRunOf({ metadata }: EventOf<'RUN_STARTED'>): string | undefined {
  const id = metadata?.svc.runId;
  return typeof id === 'string' ? id : undefined;
}

function changeTurn(thread: Thread, change: (turn: Turn) => Turn): Thread {
  const last = thread.turns.at(-1);
  return last ? { ...thread, turns: [...thread.turns.slice(0, -1), change(last)] } : thread;
}

/** @param now undefined: no turn was made */
function endTurn(thread: Thread, now: number | undefined, change: (turn: Turn) => Turn = (turn) => turn): Thread {
  const ended = now === undefined ? thread : changeTurn(thread, (turn) => ({ ...change(turn), endedAt: now }));
  return { ...ended, open: new Set(), again: {} };
}

/** A turn that fails or is cancelled adds nothing to its session: neither what was asked, nor what was made. */
function lose(thread: Thread): Thread {
  const asked = thread.messages.findLastIndex(({ role }) => role === 'user');
  if (asked < 0) return thread;
  return { ...thread, lost: new Set([...thread.lost, ...thread.messages.slice(asked).map(({ id }) => id)]) };
}

/** The message begins at the end of the conversation, unless it is there. */
function ensure(thread: Thread, message: ChatMessage): Thread {
  return thread.messages.findLast(({ id }) => id === message.id)
    ? thread
    : { ...thread, messages: [...thread.messages, message] };
}

/** @param length of what is known of the text */
function open(thread: Thread, id: string, length = lengthOf(thread, id)): Thread {
  return { ...thread, open: new Set([...thread.open, id]), again: startText(thread.again, id, length) };
}

function close(thread: Thread, id: string): Thread {
  const { [id]: at, ...again } = thread.again;
  const rest = new Set([...thread.open].filter((one) => one !== id));
  const closed = { ...thread, open: rest, again };
  // It ends before what was known of it does.
  if (at === undefined) return closed;
  if (findCall(closed, id)) return changeCall(closed, id, (args) => ({ text: args.slice(0, at), at: undefined }));
  return changeMessage(closed, id, (message) => ({ ...message, content: textOf(message).slice(0, at) }) as ChatMessage);
}

function writeText(thread: Thread, id: string, delta: string): Thread {
  let grown: Grown | undefined;
  const written = changeMessage(thread, id, (message) => {
    grown = growText(textOf(message), delta, thread.again[id]);
    return { ...message, content: grown.text } as ChatMessage;
  });
  return grown ? { ...written, again: startText(thread.again, id, 0, grown.at) } : thread;
}

function changeCall(thread: Thread, callId: string, change: (args: string, at: number | undefined) => Grown): Thread {
  let grown: Grown | undefined;
  const messages = changeLast(
    thread.messages,
    (message) => message.role === 'assistant' && message.toolCalls?.some(({ id }) => id === callId) === true,
    (message) => {
      const { toolCalls = [] } = message as AssistantMessage;
      return {
        ...(message as AssistantMessage),
        toolCalls: toolCalls.map((call) => {
          if (call.id !== callId) return call;
          grown = change(call.function.arguments, thread.again[callId]);
          return { ...call, function: { ...call.function, arguments: grown.text } };
        }),
      };
    },
  );
  return grown ? { ...thread, messages, again: startText(thread.again, callId, 0, grown.at) } : thread;
}

function changeMessage(thread: Thread, id: string, change: (message: ChatMessage) => ChatMessage): Thread {
  return { ...thread, messages: changeLast(thread.messages, (message) => message.id === id, change) };
}

/** What is written stands near the end. */
function changeLast(
  messages: readonly ChatMessage[],
  isMeant: (message: ChatMessage) => boolean,
  change: (message: ChatMessage) => ChatMessage,
): readonly ChatMessage[] {
  const at = messages.findLastIndex(isMeant);
  const found = messages[at];
  return found ? messages.with(at, change(found)) : messages;
}

function textOf(message: ChatMessage): string {
  return 'content' in message && typeof message.content === 'string' ? message.content : '';
}

function lengthOf({ messages }: Thread, id: string): number {
  const message = messages.findLast((one) => one.id === id);
  return message ? textOf(message).length : 0;
}
