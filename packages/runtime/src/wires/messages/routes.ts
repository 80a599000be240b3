import type { H3, H3Event } from 'h3';
import { requireGrant } from '../../auth/caller.ts';
import { answerJson } from '../../http/answer.ts';
import { mountRoute, requestIdOf } from '../../http/app.ts';
import type { RouteEntry } from '../../http/app.ts';
import { mayTakeCallsForErrors, readBoxToolsHeader } from '../box-tools-header.ts';
import { markCallId, readMarks } from '../call-marks.ts';
import { mountChatWire, toModelRoutes } from '../chat-wire.ts';
import type { AskedTurn, ChatWireOptions, MountChat, SentTurn } from '../chat-wire.ts';
import { readChatBody, requireAgent } from '../request.ts';
import { WIRE_B_DOCS } from '../route-docs.ts';
import { readSession } from '../session.ts';
import type { SignThinking } from '../thinking-signature.ts';
import { PING, toMessage, toMessageFrames } from './answer.ts';
import { answerMessageFailure } from './error.ts';
import { toMessageModel, toModelPage } from './models.ts';
import { toMessagesRequest } from './request.ts';
import type { MessagesRequest } from './request.ts';
import type { MessageView } from './translator.ts';

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
const MODELS = toModelRoutes(BASE, WIRE_B_DOCS, 'List the agents as models, in pages');

export const WIRE_B_ROUTES: RouteEntry[] = [MESSAGES, COUNT, MODELS.models, MODELS.model];

export interface WireBOptions extends ChatWireOptions {
  signThinking: SignThinking;
  startedAt: number;
}

/** The messages wire: translation only. Its errors are answered as `WIRE_B_ERRORS` (`error.ts`) says. */
export function mountWireB(app: H3, { signThinking, startedAt, ...options }: WireBOptions): void {
  const { agents, authorize } = options;
  const mount: MountChat = (route, handler) =>
    mountRoute(app, route, async (event) => withRequestId(await handler(event), event));
  const toModel = (name: string) => toMessageModel(name, startedAt);
  const wire = {
    name: 'wire-b',
    routes: { turn: MESSAGES, ...MODELS },
    toModel,
    toModels: (names: readonly string[], query: URLSearchParams) => toModelPage(names.map(toModel), query),
    read: (sent: SentTurn) => readMessages(sent, signThinking),
  };
  mountChatWire(mount, wire, options);
  mount(COUNT, async (event) => {
    const caller = await authorize(event.req.headers);
    const body = await readChatBody(event.req);
    const { model, inputTokens } = toMessagesRequest(body, { keepsHistory: false, isAnswered: false });
    requireGrant(caller, 'agents', model);
    await requireAgent(agents, model, caller);
    return answerJson(200, { input_tokens: inputTokens });
  });
}

// --- internal ---

function readMessages({ body, headers, caller }: SentTurn, signThinking: SignThinking): AskedTurn {
  const session = readSession(headers);
  const keepsHistory = session?.kind === 'session';
  const request = toMessagesRequest(body, { keepsHistory, isAnswered: true });
  const { model, tools, parameters, hints, inputTokens, isStream, ignored } = request;
  const { messages, continues } = readMarks(request.messages);
  requireGrant(caller, 'agents', model);
  const boxTools = readBoxTools(headers, request);
  return {
    request: {
      agent: model,
      messages,
      tools,
      parameters,
      ...(hints ? { hints } : {}),
      ...(keepsHistory || continues === undefined ? {} : { continues }),
    },
    session,
    asked: { ...(body as object), stream: undefined },
    isStream,
    ignored,
    toAnswer({ runId, requestId }) {
      const id = `msg_${runId.replaceAll('-', '')}`;
      const toShownId = (callId: string) => (keepsHistory ? callId : markCallId(callId, runId));
      const view: MessageView = { id, model, boxTools, toShownId, inputTokens, signThinking };
      return {
        toWhole: (events) => toMessage(events, view),
        toFrames: (events) => toMessageFrames(events, { ...view, requestId }),
        keepAlive: PING,
        fail: (failure) => answerMessageFailure(failure, requestId),
      };
    },
  };
}

/** A client that brought tools would try to run what it is shown as `tool_use`; the blocks of MCP no client runs. */
function readBoxTools(headers: Headers, { hasTools }: MessagesRequest): MessageView['boxTools'] {
  const asked = readBoxToolsHeader(headers, { ways: ['mcp', 'hidden', 'shown'], hasTools });
  if (asked) return asked === 'shown' ? 'tool_use' : asked;
  if (hasTools) return 'hidden';
  return mayTakeCallsForErrors(headers) ? 'mcp' : 'tool_use';
}

function withRequestId(response: Response, event: H3Event): Response {
  response.headers.set('request-id', requestIdOf(event));
  return response;
}
