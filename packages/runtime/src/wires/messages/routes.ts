import type { H3, H3Event } from 'h3';
import type { Agents } from '../../agents/agents.ts';
import { requireGrant } from '../../auth/caller.ts';
import type { Caller } from '../../auth/caller.ts';
import { BoxError } from '../../errors.ts';
import { answerJson } from '../../http/answer.ts';
import { mountRoute, requestIdOf } from '../../http/app.ts';
import type { RouteEntry } from '../../http/app.ts';
import { answerSse } from '../../http/sse.ts';
import { startClientTurn } from '../client-turn.ts';
import { readAll } from '../../agents/events/turn-events.ts';
import { failureIn, holdUntilOutput } from '../hold.ts';
import { grantedAgents } from '../key.ts';
import type { Authorize } from '../key.ts';
import { PING, toMessage, toMessageFrames } from './answer.ts';
import { answerMessageFailure } from './error.ts';
import type { MessageView } from './translator.ts';
import { toMessageModel, toModelPage } from './models.ts';
import { toMessagesRequest } from './request.ts';
import type { MessagesRequest, ReadOptions } from './request.ts';
import { readChatBody, requireAgent } from '../request.ts';
import { WIRE_B_DOCS } from '../route-docs.ts';
import { readSession } from '../session.ts';
import type { SignThinking } from '../thinking-signature.ts';
import { readTurnKey } from '../turn-key.ts';

const BASE = '/wire-b/v1';

const MESSAGES: RouteEntry = {
  method: 'POST',
  path: `${BASE}/messages`,
  summary: 'Chat with an agent in the messages format; `model` is the agent name',
  doc: WIRE_B_DOCS.messages,
};
const COUNT: RouteEntry = {
  method: 'POST',
  path: `${BASE}/messages/count_tokens`,
  summary: 'Estimate the input tokens of a request in the messages format',
  doc: WIRE_B_DOCS.count,
};
const MODELS: RouteEntry = {
  method: 'GET',
  path: `${BASE}/models`,
  summary: 'List the agents as models, in pages',
  doc: WIRE_B_DOCS.models,
};
const MODEL: RouteEntry = {
  method: 'GET',
  path: `${BASE}/models/:id`,
  summary: 'Get one agent as a model',
  doc: WIRE_B_DOCS.model,
};

export const WIRE_B_ROUTES: RouteEntry[] = [MESSAGES, COUNT, MODELS, MODEL];

export interface WireBOptions {
  agents: Agents;
  authorize: Authorize;
  signThinking: SignThinking;
  startedAt: number;
}

/** The messages wire: translation only. Its errors are thrown; the app answers them as `WIRE_B_ERRORS` (`messages-error.ts`) says. */
export function mountWireB(app: H3, options: WireBOptions): void {
  const { agents, authorize, startedAt } = options;
  const wire = (route: RouteEntry, handler: (event: H3Event) => Promise<Response>) =>
    mountRoute(app, route, async (event) => withRequestId(await handler(event), event));
  wire(MODELS, async (event) => {
    const names = grantedAgents(await authorize(event.req.headers), await agents.names());
    const models = names.map((name) => toMessageModel(name, startedAt));
    return answerJson(200, toModelPage(models, event.url.searchParams));
  });
  wire(MODEL, async (event) => {
    const id = decodeURIComponent(event.context.params?.id ?? '');
    await requireAgent(agents, id, await authorize(event.req.headers, id));
    return answerJson(200, toMessageModel(id, startedAt));
  });
  wire(MESSAGES, (event) => answerTurn(event, options));
  wire(COUNT, async (event) => {
    const { caller, request } = await readRequest(event, authorize, { keepsHistory: false, isAnswered: false });
    const { model, inputTokens } = request;
    await requireAgent(agents, model, caller);
    return answerJson(200, { input_tokens: inputTokens });
  });
}

// --- internal ---

async function answerTurn(event: H3Event, { agents, authorize, signThinking }: WireBOptions): Promise<Response> {
  const { headers, signal } = event.req;
  const session = readSession(headers);
  const keepsHistory = session?.kind === 'session';
  const { caller, body, request } = await readRequest(event, authorize, { keepsHistory, isAnswered: true });
  const boxTools = readBoxTools(headers, request);
  const { model, messages, tools, parameters, inputTokens } = request;
  const key = readTurnKey({ headers, wire: 'wire-b', caller, asked: [session, { ...body, stream: undefined }] });
  const kept = { ...(session ? { session } : {}), ...(key ? { key } : {}) };
  const isWhole = !request.isStream;
  const asked = { agent: model, messages, tools, parameters, askedBy: caller.id, isWhole, ...kept };
  const turn = await startClientTurn(agents, asked, { caller, signal });
  const id = `msg_${turn.runId.replaceAll('-', '')}`;
  const view: MessageView = { id, model, boxTools, inputTokens, signThinking };
  const requestId = requestIdOf(event);
  if (isWhole) {
    const events = await readAll(turn.events);
    const failure = failureIn(events);
    return failure ? answerMessageFailure(failure, requestId) : answerJson(200, toMessage(events, view));
  }
  const events = await holdUntilOutput(turn);
  if (events.failed) return answerMessageFailure(events.failed, requestId);
  return answerSse(toMessageFrames(events.all, { ...view, requestId }), { onGone: turn.onGone, keepAlive: PING });
}

interface ReadRequest {
  caller: Caller;
  body: object;
  request: MessagesRequest;
}

async function readRequest(event: H3Event, authorize: Authorize, options: ReadOptions): Promise<ReadRequest> {
  // Before the body: a caller without access is refused whatever it sends.
  const caller = await authorize(event.req.headers);
  const body = await readChatBody(event.req);
  const request = toMessagesRequest(body, options);
  requireGrant(caller, 'agents', request.model);
  return { caller, body: body as object, request };
}

/** A client that brought tools would try to run what it is shown as `tool_use`; the blocks of MCP no client runs. */
function readBoxTools(headers: Headers, { hasTools }: MessagesRequest): MessageView['boxTools'] {
  const asked = headers.get('x-svc-box-tools')?.trim() ?? '';
  if (asked === 'mcp') return 'mcp';
  if (asked === '') return hasTools ? 'hidden' : 'tool_use';
  throw new BoxError('invalid_request', `The header "x-svc-box-tools" is "${asked}"; leave it out, or send "mcp".`);
}

function withRequestId(response: Response, event: H3Event): Response {
  response.headers.set('request-id', requestIdOf(event));
  return response;
}
