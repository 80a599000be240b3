import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import type { RouteDoc } from '../http/route-doc.ts';
import { RunAgentInput } from './agui/input.ts';
import { UiRequest } from './ui-messages/input.ts';

// What the chat wires say in the OpenAPI document: the members they read, of formats that have many more.

const TURN_ERRORS: readonly ErrorCode[] = [
  'agent_not_found',
  'approval_pending',
  'turn_in_progress',
  'turn_blocked',
  'idempotency_conflict',
  'too_many_streams',
  'model_provider_failed',
  'agent_load_failed',
  'model_not_selected',
  'model_provider_missing',
  'agent_runtime_not_armed',
  'shutting_down',
];
const KEY_HEADER = {
  'x-svc-user': 'The end user it is for, from a key that may speak for users: the session and the run are theirs',
  'idempotency-key':
    'The same key and body answer with the turn they began for 24 hours, streamed also while it is under way; nothing is asked or run again',
};
const TURN_HEADERS = {
  ...KEY_HEADER,
  'x-svc-session': 'Any stable text: the box keeps the conversation, and the client sends only what is new',
  'x-svc-conversation': 'Groups turns into one session without keeping state: the client sends all messages',
};
const Message = z.looseObject({ role: z.string(), content: z.unknown() });
const Chat = {
  model: z.string().describe('The name of an agent'),
  messages: z.array(Message).min(1),
  stream: z.boolean().optional().describe('Answer as server-sent events'),
  tools: z.array(z.unknown()).optional().describe('Tools the client runs itself'),
  tool_choice: z.unknown().optional().describe('Holds for the first call of the model'),
};
const Model = z.looseObject({ id: z.string() });
const Models = z.looseObject({ data: z.array(Model) });
const wireA = { tag: 'chat-completions', security: 'key', family: 'wire-a' } as const;
const wireB = { tag: 'messages', security: 'key', family: 'wire-b' } as const;

export const WIRE_A_DOCS = {
  completions: {
    ...wireA,
    id: 'completions.create',
    errors: [...TURN_ERRORS, 'run_cancelled'],
    headers: {
      ...TURN_HEADERS,
      'x-svc-box-tools':
        '`hidden` leaves the calls of the box out, as for a client that brought tools, the AI SDK and pages; `shown` shows them',
    },
    body: z.looseObject(Chat),
    answers: {
      200: {
        description: 'The completion, or its chunks where `stream` asks for them',
        content: {
          'application/json': z.looseObject({
            id: z.string(),
            object: z.literal('chat.completion'),
            created: z.int(),
            model: z.string(),
            choices: z.array(z.looseObject({ index: z.int(), message: Message, finish_reason: z.string() })),
            usage: z.looseObject({}).optional(),
          }),
          'text/event-stream': undefined,
        },
      },
    },
  },
  models: {
    ...wireA,
    id: 'completions.models',
    answers: { 200: { description: 'The agents', content: { 'application/json': Models } } },
  },
  model: {
    ...wireA,
    id: 'completions.model',
    errors: ['agent_not_found'],
    answers: { 200: { description: 'The agent', content: { 'application/json': Model } } },
  },
} satisfies Record<string, RouteDoc>;

export const WIRE_B_DOCS = {
  messages: {
    ...wireB,
    id: 'messages.create',
    errors: [...TURN_ERRORS, 'run_cancelled', 'thread_unsupported_request'],
    headers: {
      ...TURN_HEADERS,
      'x-svc-box-tools':
        '`mcp` shows the calls of the box to any client, as blocks it does not run; `hidden` leaves them out; `shown` shows them as `tool_use`',
    },
    body: z.looseObject({ ...Chat, max_tokens: z.int() }),
    answers: {
      200: {
        description: 'The message, or its events where `stream` asks for them',
        content: {
          'application/json': z.looseObject({
            id: z.string(),
            type: z.literal('message'),
            role: z.literal('assistant'),
            model: z.string(),
            content: z.array(z.looseObject({ type: z.string() })),
            stop_reason: z.string().nullable(),
            usage: z.looseObject({ input_tokens: z.int(), output_tokens: z.int() }),
          }),
          'text/event-stream': undefined,
        },
      },
    },
  },
  count: {
    ...wireB,
    id: 'messages.count',
    errors: ['agent_not_found'],
    body: z.looseObject({ model: Chat.model, messages: Chat.messages, tools: Chat.tools }),
    answers: {
      200: { description: 'The estimate', content: { 'application/json': z.object({ input_tokens: z.int() }) } },
    },
  },
  models: {
    ...wireB,
    id: 'messages.models',
    query: {
      limit: 'How many, up to 1,000',
      after_id: 'The last one of the page before',
      before_id: 'The first one of the page after',
    },
    answers: { 200: { description: 'The agents', content: { 'application/json': Models } } },
  },
  model: {
    ...wireB,
    id: 'messages.model',
    errors: ['agent_not_found'],
    answers: { 200: { description: 'The agent', content: { 'application/json': Model } } },
  },
} satisfies Record<string, RouteDoc>;

export const AGUI_DOCS = {
  run: {
    id: 'agui.run',
    tag: 'agui',
    security: 'key',
    errors: [...TURN_ERRORS, 'prompt_not_found', 'prompt_version_not_found'],
    headers: KEY_HEADER,
    body: RunAgentInput,
    answers: { 200: { description: 'The events of the run', content: { 'text/event-stream': undefined } } },
  },
  stop: {
    id: 'agui.stop',
    tag: 'agui',
    security: 'key',
    headers: { 'x-svc-user': KEY_HEADER['x-svc-user'] },
    errors: ['agent_not_found', 'agent_load_failed'],
    answers: { 204: { description: 'It is cancelled, or had ended before' } },
  },
} satisfies Record<string, RouteDoc>;

const ui = { tag: 'ui-messages', security: 'key', headers: { 'x-svc-user': KEY_HEADER['x-svc-user'] } } as const;
const ShownMessage = z.object({
  id: z.string(),
  role: z.enum(['user', 'assistant']),
  parts: z.array(z.looseObject({ type: z.string() })),
});
const UI_STREAM = { description: 'The chunks of the answer', content: { 'text/event-stream': undefined } };

export const UI_DOCS = {
  send: {
    ...ui,
    id: 'ui.send',
    errors: TURN_ERRORS,
    headers: KEY_HEADER,
    body: UiRequest,
    answers: { 200: UI_STREAM },
  },
  read: {
    ...ui,
    id: 'ui.read',
    errors: ['agent_not_found', 'agent_load_failed'],
    answers: {
      200: {
        description: 'The chat; an unknown one has no messages',
        content: { 'application/json': z.object({ id: z.string(), messages: z.array(ShownMessage) }) },
      },
    },
  },
  follow: {
    ...ui,
    id: 'ui.follow',
    errors: ['agent_not_found', 'agent_load_failed', 'too_many_streams'],
    answers: { 200: UI_STREAM, 204: { description: 'Every turn has ended' } },
  },
  stop: {
    ...ui,
    id: 'ui.stop',
    errors: ['agent_not_found', 'agent_load_failed'],
    answers: { 204: { description: 'It is cancelled, or had ended before' } },
  },
} satisfies Record<string, RouteDoc>;
