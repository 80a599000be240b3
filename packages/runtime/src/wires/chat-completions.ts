import type { H3, H3Event } from 'h3';
import { toMessages } from '../agents/messages.ts';
import { agentNotFound } from '../agents/agent-errors.ts';
import type { Agents } from '../agents/agents.ts';
import { BoxError } from '../errors.ts';
import { answerJson } from '../http/answer.ts';
import { mountRoute } from '../http/app.ts';
import type { RouteEntry } from '../http/app.ts';
import { readJson } from '../http/body.ts';
import { answerSse } from '../http/sse.ts';
import { toCompletion } from './chat-completion.ts';
import { toChunks } from './chat-completion-chunks.ts';
import { answerFailure } from './chat-completion-error.ts';
import { toClientTools } from './client-tools.ts';
import { holdUntilOutput } from './hold.ts';
import { readApiKey } from './key.ts';
import { newestOf, readSession } from './session.ts';

const BASE = '/wire-a/v1';
const BODY_LIMIT = 32 * 1_048_576;

/** Members of a request that are handed to the provider; those of the wire itself and unknown ones are not. */
const MODEL_PARAMETERS = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'seed',
  'stop',
  'max_tokens',
  'max_completion_tokens',
  'presence_penalty',
  'frequency_penalty',
  'repetition_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'response_format',
  'service_tier',
  'reasoning_effort',
  'reasoning',
  'verbosity',
  'prompt_cache_key',
  'safety_identifier',
];

const COMPLETIONS: RouteEntry = {
  method: 'POST',
  path: `${BASE}/chat/completions`,
  summary: 'Chat with an agent; `model` is the agent name',
};
const MODELS: RouteEntry = { method: 'GET', path: `${BASE}/models`, summary: 'List the agents as models' };
const MODEL: RouteEntry = { method: 'GET', path: `${BASE}/models/:id`, summary: 'Get one agent as a model' };

export const WIRE_A_ROUTES: RouteEntry[] = [COMPLETIONS, MODELS, MODEL];

/** The chat-completions wire: translation only. Its errors are thrown; the app answers them as `WIRE_A_ERRORS` (`chat-completion-error.ts`) says. */
export function mountWireA(app: H3, { agents, startedAt }: { agents: Agents; startedAt: number }): void {
  const wire = (route: RouteEntry, handler: (event: H3Event) => Promise<Response>) =>
    mountRoute(app, route, (event) => {
      readApiKey(event.req.headers);
      return handler(event);
    });
  wire(MODELS, async () =>
    answerJson(200, { object: 'list', data: agents.names().map((id) => toModel(id, startedAt)) }),
  );
  wire(MODEL, async (event) => {
    const id = decodeURIComponent(event.context.params?.id ?? '');
    if (!agents.names().includes(id)) throw agentNotFound(id, agents.names());
    return answerJson(200, toModel(id, startedAt));
  });
  wire(COMPLETIONS, (event) => complete(event, agents));
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
  const { signal } = event.req;
  const request = checkRequest(await readJson(event.req, { limit: BODY_LIMIT, refuseProtoKeys: false }));
  const session = readSession(event.req.headers);
  const messages = toMessages(request.messages);
  const tools = toClientTools(request.tools);
  const turn = await agents.startTurn({
    agent: request.model,
    messages: session?.kind === 'session' ? newestOf(messages) : messages,
    tools,
    ...(session ? { session } : {}),
    parameters: Object.fromEntries(Object.entries(request).filter(([key]) => MODEL_PARAMETERS.includes(key))),
  });
  const onGone = () => turn.leave();
  if (signal.aborted) onGone();
  else signal.addEventListener('abort', onGone, { once: true });
  const view = {
    id: `chatcmpl-${turn.runId.replaceAll('-', '')}`,
    created: Math.floor(turn.startedAt / 1_000),
    model: request.model,
    showTools: tools.length === 0,
    includeUsage: request.stream_options?.include_usage === true,
  };
  const events = await holdUntilOutput(turn);
  if (events.failed) return answerFailure(events.failed);
  if (request.stream === true) return answerSse(toChunks(events.all, view), { onGone });
  const { completion, error } = await toCompletion(events.all, view);
  return error ? answerFailure({ ...error, retryAfter: undefined }) : answerJson(200, completion);
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

function toModel(id: string, startedAt: number) {
  return { id, object: 'model', created: Math.floor(startedAt / 1_000), owned_by: 'svc' };
}
