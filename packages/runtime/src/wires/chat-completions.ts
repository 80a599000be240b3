import type { H3, H3Event } from 'h3';
import { toMessages } from '../agents/messages.ts';
import type { Agents, RunningTurn } from '../agents/agents.ts';
import { BoxError } from '../errors.ts';
import { answerJson, toBoxError } from '../http/answer.ts';
import type { RouteEntry } from '../http/app.ts';
import { requestIdOf } from '../http/app.ts';
import { readJson } from '../http/body.ts';
import { answerSse } from '../http/sse.ts';
import type { Log } from '../log.ts';
import { isTerminal } from './events.ts';
import type { TurnEvent } from './events.ts';
import { toCompletion } from './chat-completion.ts';
import { toChunks } from './chat-completion-chunks.ts';
import { readApiKey } from './key.ts';

const BASE = '/wire-a/v1';
const BODY_LIMIT = 32 * 1_048_576;
/** Members of a request that are about this wire, not about the model call. */
const OWN_MEMBERS = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'n',
  'user',
  'store',
  'metadata',
]);

export const WIRE_A_ROUTES: RouteEntry[] = [
  { method: 'POST', path: `${BASE}/chat/completions`, summary: 'Chat with an agent; `model` is the agent name' },
  { method: 'GET', path: `${BASE}/models`, summary: 'List the agents as models' },
  { method: 'GET', path: `${BASE}/models/:id`, summary: 'Get one agent as a model' },
];

/** The chat-completions wire: translation only. */
export function mountWireA(app: H3, options: { agents: Agents; log: Log; startedAt: number }): void {
  const { agents } = options;
  const wire = (handler: (event: H3Event) => Promise<Response>) => async (event: H3Event) => {
    try {
      readApiKey(event.req.headers);
      return await handler(event);
    } catch (thrown) {
      const error = toBoxError(thrown);
      if (error.code === 'internal')
        options.log.error('A chat request failed.', { requestId: requestIdOf(event), error: error.cause });
      return answerWireError(error.status, error.code, error.message, error.details?.param);
    }
  };
  app.get(
    `${BASE}/models`,
    wire(async () =>
      answerJson(200, { object: 'list', data: agents.names().map((id) => toModel(id, options.startedAt)) }),
    ),
  );
  app.get(
    `${BASE}/models/:id`,
    wire(async (event) => {
      const id = decodeURIComponent(event.context.params?.id ?? '');
      if (!agents.names().includes(id)) throw new BoxError('agent_not_found', `There is no agent "${id}".`);
      return answerJson(200, toModel(id, options.startedAt));
    }),
  );
  app.post(
    `${BASE}/chat/completions`,
    wire((event) => complete(event, agents)),
  );
  app.all(
    '/wire-a/**',
    wire(async (event) => {
      throw new BoxError('not_found', `There is no route ${event.req.method} ${event.url.pathname}.`);
    }),
  );
}

// --- internal ---

interface ChatRequest {
  model: string;
  messages: unknown;
  stream?: unknown;
  stream_options?: { include_usage?: unknown };
  tools?: unknown;
  n?: unknown;
}

async function complete(event: H3Event, agents: Agents): Promise<Response> {
  const request = checkRequest(await readJson(event.req, { limit: BODY_LIMIT, refuseProtoKeys: false }));
  const turn = await agents.startTurn({
    agent: request.model,
    messages: toMessages(request.messages),
    parameters: Object.fromEntries(Object.entries(request).filter(([key]) => !OWN_MEMBERS.has(key))),
  });
  const onGone = () => turn.cancel();
  event.req.signal.addEventListener('abort', onGone, { once: true });
  const view = {
    id: `chatcmpl-${turn.runId.replaceAll('-', '')}`,
    created: Math.floor(turn.startedAt / 1_000),
    model: request.model,
    showTools: !Array.isArray(request.tools) || request.tools.length === 0,
    includeUsage: request.stream_options?.include_usage === true,
  };
  const events = await holdUntilOutput(turn);
  if (events.failed) {
    const { status, code, message, retryable } = events.failed;
    return answerWireError(status, code, message, undefined, retryable);
  }
  if (request.stream === true) return answerSse(toChunks(events.all, view), { onGone });
  const { completion, error } = await toCompletion(events.all, view);
  return error ? answerWireError(error.status, error.code, error.message) : answerJson(200, completion);
}

/** Keeps the HTTP status open until there is output, so that a provider's failure becomes a real status. At most 10 s. */
async function holdUntilOutput(
  turn: RunningTurn,
): Promise<{ all: AsyncIterable<TurnEvent>; failed?: Extract<TurnEvent, { type: 'error' }> }> {
  const iterator = turn.events[Symbol.asyncIterator]();
  const held: TurnEvent[] = [];
  let pending = iterator.next();
  const late = new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), 10_000).unref());
  for (;;) {
    const next = await Promise.race([pending, late]);
    if (next === 'late' || next.done) break;
    held.push(next.value);
    if (next.value.type === 'error') return { all: replay(held, iterator, undefined), failed: next.value };
    if (isTerminal(next.value)) return { all: replay(held, iterator, undefined) };
    pending = iterator.next();
    if (/^(text|reasoning|tool)\./.test(next.value.type)) break;
  }
  return { all: replay(held, iterator, pending) };
}

async function* replay(
  held: TurnEvent[],
  iterator: AsyncIterator<TurnEvent>,
  pending: Promise<IteratorResult<TurnEvent>> | undefined,
): AsyncGenerator<TurnEvent> {
  yield* held;
  for (let next = await (pending ?? iterator.next()); !next.done; next = await iterator.next()) yield next.value;
}

function checkRequest(body: unknown): ChatRequest {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new BoxError('invalid_request', 'The body must be a JSON object.');
  const request = body as Partial<ChatRequest>;
  if (typeof request.model !== 'string' || request.model === '')
    throw new BoxError('invalid_request', '"model" must be the name of an agent.', { details: { param: 'model' } });
  if (typeof request.n === 'number' && request.n > 1)
    throw new BoxError('invalid_request', '"n" must be 1: a turn has one answer.', { details: { param: 'n' } });
  return request as ChatRequest;
}

const ERROR_TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'invalid_request_error',
  413: 'invalid_request_error',
  415: 'invalid_request_error',
  429: 'rate_limit_error',
};

const WIRE_CODES: Record<string, string> = {
  unauthorized: 'invalid_api_key',
  agent_not_found: 'model_not_found',
};

/** The error shape of this wire. Errors made on purpose say so, because the clients of this wire repeat 409 and 5xx. */
function answerWireError(
  status: number,
  code: string,
  message: string,
  param: unknown = null,
  retryable = false,
): Response {
  const error = {
    message,
    type: ERROR_TYPES[status] ?? 'server_error',
    param: param ?? null,
    code: WIRE_CODES[code] ?? code,
  };
  return answerJson(status, { error }, retryable ? {} : { 'x-should-retry': 'false' });
}

function toModel(id: string, startedAt: number) {
  return { id, object: 'model', created: Math.floor(startedAt / 1_000), owned_by: 'svc' };
}
