import type { FinishReason, Interrupt, TurnEvent, Usage } from '../../agents/events/turn-events.ts';
import { toInterruptText, toWireInterrupts } from '../chat-completions/completion.ts';
import { createObjectText } from './object-text.ts';
import type { ObjectText } from './object-text.ts';
import type { SignThinking } from '../thinking-signature.ts';

/** What this wire needs to know about one answer, besides the events. */
export interface MessageView {
  id: string;
  model: string;
  /** How calls the box runs are shown: as calls, as calls with results that no client tries to run, or not at all. */
  boxTools: 'tool_use' | 'mcp' | 'hidden';
  /** The id with which the client is shown a call it is to run. */
  toShownId(callId: string): string;
  /** An estimate, until the model has counted. */
  inputTokens: number;
  signThinking: SignThinking;
}

export type ContentBlock =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; input: unknown }
  | { type: 'mcp_tool_use'; id: string; name: string; server_name: string; input: unknown }
  | { type: 'mcp_tool_result'; tool_use_id: string; is_error: boolean; content: { type: 'text'; text: string }[] };

export type BlockDelta =
  | { type: 'text_delta'; text: string }
  | { type: 'thinking_delta'; thinking: string }
  | { type: 'signature_delta'; signature: string }
  | { type: 'input_json_delta'; partial_json: string };

export interface WireUsage {
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens: number;
}

export interface Message {
  id: string;
  type: 'message';
  role: 'assistant';
  model: string;
  content: ContentBlock[];
  stop_reason: string | null;
  stop_sequence: null;
  usage: WireUsage;
  svc?: ReturnType<typeof toWireInterrupts>;
}

export type MessageEvent =
  | { type: 'message_start'; message: Message }
  | { type: 'ping' }
  | { type: 'content_block_start'; index: number; content_block: ContentBlock }
  | { type: 'content_block_delta'; index: number; delta: BlockDelta }
  | { type: 'content_block_stop'; index: number }
  | {
      type: 'message_delta';
      delta: { stop_reason: string; stop_sequence: null };
      usage: WireUsage;
      svc?: ReturnType<typeof toWireInterrupts>;
    }
  | { type: 'message_stop' };

/** Translates the events of a turn, one after the other. Blocks never overlap and are numbered without a gap. */
export function createMessageEvents(view: MessageView): (event: TurnEvent) => MessageEvent[] {
  const state: State = { view, index: -1, thinking: '', call: undefined, usage: undefined, interrupts: [] };
  return (event) => {
    const translate = TRANSLATE[event.type] as ((state: State, event: TurnEvent) => MessageEvent[]) | undefined;
    return translate?.(state, event) ?? [];
  };
}

// --- internal ---

interface State {
  view: MessageView;
  /** Of the newest block. */
  index: number;
  /** What the open block holds. */
  thinking: string;
  /** The call that is being emitted. */
  call: { id: string; name: string; shown: MessageView['boxTools']; input: ObjectText } | undefined;
  usage: Usage | undefined;
  interrupts: Interrupt[];
}

type Translation = {
  [T in TurnEvent['type']]?: (state: State, event: Extract<TurnEvent, { type: T }>) => MessageEvent[];
};

const SERVER_NAME = 'box';

const TRANSLATE: Translation = {
  'turn.start': ({ view }) => [{ type: 'message_start', message: toEmptyMessage(view) }, { type: 'ping' }],
  'text.start': (state) => [begin(state, { type: 'text', text: '' })],
  'text.delta': (state, { text }) => [add(state, { type: 'text_delta', text })],
  'text.end': (state) => [end(state)],
  'reasoning.start'(state) {
    state.thinking = '';
    return [begin(state, { type: 'thinking', thinking: '', signature: '' })];
  },
  'reasoning.delta'(state, { text }) {
    state.thinking += text;
    return [add(state, { type: 'thinking_delta', thinking: text })];
  },
  'reasoning.end': (state) => [
    add(state, { type: 'signature_delta', signature: state.view.signThinking(state.thinking) }),
    end(state),
  ],
  'tool.start'(state, { callId, name, executor }) {
    const isForClient = executor === 'client';
    const shown = isForClient ? 'tool_use' : state.view.boxTools;
    const id = isForClient ? state.view.toShownId(callId) : callId;
    state.call = { id, name, shown, input: createObjectText() };
    return shown === 'tool_use' ? [begin(state, { type: 'tool_use', id, name, input: {} })] : [];
  },
  'tool.args': (state, { delta }) =>
    state.call?.shown === 'tool_use' ? addInput(state, state.call.input.push(delta)) : [],
  'tool.end'(state, { args }) {
    if (!state.call || state.call.shown === 'hidden') return [];
    const { id, name, shown, input } = state.call;
    if (shown === 'tool_use') return [...addInput(state, input.end()), end(state)];
    // Whole at once: some clients read no fragments of this kind of call.
    const whole = JSON.parse(input.push(args) + input.end()) as unknown;
    return [begin(state, { type: 'mcp_tool_use', id, name, server_name: SERVER_NAME, input: whole }), end(state)];
  },
  'tool.result'(state, { callId, content, isError }) {
    if (state.view.boxTools !== 'mcp') return [];
    const shown = [{ type: 'text' as const, text: content }];
    return [
      begin(state, { type: 'mcp_tool_result', tool_use_id: callId, is_error: isError, content: shown }),
      end(state),
    ];
  },
  // A client that knows nothing of interrupts reads what waits; `pause_turn` would make it ask again at once.
  interrupt(state, event) {
    state.interrupts.push(event);
    const text = toInterruptText(event);
    return [begin(state, { type: 'text', text: '' }), add(state, { type: 'text_delta', text }), end(state)];
  },
  usage(state, event) {
    state.usage = event;
    return [];
  },
  finish: ({ usage, interrupts }, { reason }) => [
    {
      type: 'message_delta',
      delta: { stop_reason: STOP_REASONS[reason], stop_sequence: null },
      usage: toUsage(usage),
      ...(interrupts.length > 0 ? { svc: toWireInterrupts(interrupts) } : {}),
    },
    { type: 'message_stop' },
  ],
};

const STOP_REASONS: Record<FinishReason, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  content_filter: 'refusal',
  tool_calls: 'tool_use',
  interrupt: 'end_turn',
  cancelled: 'end_turn',
};

function begin(state: State, block: ContentBlock): MessageEvent {
  state.index += 1;
  return { type: 'content_block_start', index: state.index, content_block: block };
}

function add({ index }: State, delta: BlockDelta): MessageEvent {
  return { type: 'content_block_delta', index, delta };
}

function addInput(state: State, text: string): MessageEvent[] {
  return text === '' ? [] : [add(state, { type: 'input_json_delta', partial_json: text })];
}

function end({ index }: State): MessageEvent {
  return { type: 'content_block_stop', index };
}

/** Counts what is known before the model answers. Some clients read the input here alone, and add the output to the last count. */
function toEmptyMessage({ id, model, inputTokens }: MessageView): Message {
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...toUsage(undefined), input_tokens: inputTokens },
  };
}

/** On this wire, input does not include what was read from a cache or written to it. */
function toUsage(usage: Usage | undefined): WireUsage {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage ?? {};
  return {
    input_tokens: Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cacheReadTokens,
    output_tokens: outputTokens,
  };
}
