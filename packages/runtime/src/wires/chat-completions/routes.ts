import type { H3, H3Event } from 'h3';
import { toMessages } from '../../agents/model/messages.ts';
import type { Agents } from '../../agents/agents.ts';
import { requireGrant } from '../../auth/caller.ts';
import type { Caller } from '../../auth/caller.ts';
import { BoxError } from '../../errors.ts';
import { answerJson } from '../../http/answer.ts';
import { mountRoute } from '../../http/app.ts';
import type { RouteEntry } from '../../http/app.ts';
import { answerSse } from '../../http/sse.ts';
import { toCompletion } from './completion.ts';
import { toChunks } from './chunks.ts';
import { answerFailure } from './error.ts';
import { startClientTurn } from '../client-turn.ts';
import { toClientTools } from '../client-tools.ts';
import { readAll } from '../../agents/events/turn-events.ts';
import { failureIn, holdUntilOutput } from '../hold.ts';
import { grantedAgents } from '../key.ts';
import type { Authorize } from '../key.ts';
import { toModelParameters } from './model-parameters.ts';
import { readChatBody, requireAgent } from '../request.ts';
import { WIRE_A_DOCS } from '../route-docs.ts';
import { newestOf, readSession } from '../session.ts';
import { readTurnKey } from '../turn-key.ts';

const BASE = '/wire-a/v1';

const COMPLETIONS: RouteEntry = {
  method: 'POST',
  path: `${BASE}/chat/completions`,
  summary: 'Chat with an agent; `model` is the agent name',
  doc: WIRE_A_DOCS.completions,
};
const MODELS: RouteEntry = {
  method: 'GET',
  path: `${BASE}/models`,
  summary: 'List the agents as models',
  doc: WIRE_A_DOCS.models,
};
const MODEL: RouteEntry = {
  method: 'GET',
  path: `${BASE}/models/:id`,
  summary: 'Get one agent as a model',
  doc: WIRE_A_DOCS.model,
};

export const WIRE_A_ROUTES: RouteEntry[] = [COMPLETIONS, MODELS, MODEL];

/** The chat-completions wire: translation only. Its errors are thrown; the app answers them as `WIRE_A_ERRORS` (`chat-completion-error.ts`) says. */
export function mountWireA(app: H3, { agents, authorize, startedAt }: WireAOptions): void {
  mountRoute(app, MODELS, async (event) => {
    const names = grantedAgents(await authorize(event.req.headers), await agents.names());
    return answerJson(200, { object: 'list', data: names.map((id) => toModel(id, startedAt)) });
  });
  mountRoute(app, MODEL, async (event) => {
    const id = decodeURIComponent(event.context.params?.id ?? '');
    await requireAgent(agents, id, await authorize(event.req.headers, id));
    return answerJson(200, toModel(id, startedAt));
  });
  mountRoute(app, COMPLETIONS, async (event) => {
    const caller = await authorize(event.req.headers);
    return complete(event, agents, caller);
  });
}

export interface WireAOptions {
  agents: Agents;
  authorize: Authorize;
  startedAt: number;
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

async function complete(event: H3Event, agents: Agents, caller: Caller): Promise<Response> {
  const { signal, headers } = event.req;
  const request = checkRequest(await readChatBody(event.req));
  requireGrant(caller, 'agents', request.model);
  const session = readSession(headers);
  const keepsHistory = session?.kind === 'session';
  const all = toMessages(request.messages, { keepsHistory });
  const messages = keepsHistory ? newestOf(all) : all;
  if (messages.length === 0)
    throw new BoxError('invalid_request', '"messages" holds nothing after the last answer.', {
      details: { param: 'messages' },
    });
  const tools = toClientTools(request.tools);
  const { stream: _stream, stream_options: _options, ...body } = request;
  const key = readTurnKey({ headers, wire: 'wire-a', caller, asked: [session, body] });
  const asked = {
    agent: request.model,
    messages,
    tools,
    askedBy: caller.id,
    ...(session ? { session } : {}),
    ...(key ? { key } : {}),
    parameters: toModelParameters(request),
    isWhole: request.stream !== true,
  };
  const turn = await startClientTurn(agents, asked, { caller, signal });
  const view = {
    id: `chatcmpl-${turn.runId.replaceAll('-', '')}`,
    created: Math.floor(turn.startedAt / 1_000),
    model: request.model,
    showTools: tools.length === 0,
    includeUsage: request.stream_options?.include_usage === true,
  };
  if (request.stream !== true) {
    const events = await readAll(turn.events);
    const failure = failureIn(events);
    return failure ? answerFailure(failure) : answerJson(200, toCompletion(events, view));
  }
  const events = await holdUntilOutput(turn);
  return events.failed ? answerFailure(events.failed) : answerSse(toChunks(events.all, view), { onGone: turn.onGone });
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
