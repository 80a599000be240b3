import type { H3 } from 'h3';
import { toMessages } from '../../agents/model/messages.ts';
import { requireGrant } from '../../auth/caller.ts';
import { BoxError } from '../../errors.ts';
import { mountRoute } from '../../http/app.ts';
import type { RouteEntry } from '../../http/app.ts';
import { mayTakeCallsForErrors, readBoxToolsHeader } from '../box-tools-header.ts';
import { markCallId, readMarks } from '../call-marks.ts';
import { mountChatWire, toModelRoutes } from '../chat-wire.ts';
import type { AskedTurn, ChatWireOptions, SentTurn } from '../chat-wire.ts';
import { toClientTools } from '../client-tools.ts';
import { WIRE_A_DOCS } from '../route-docs.ts';
import { checkCounts } from '../request.ts';
import { newestOf, readSession } from '../session.ts';
import { toChunks } from './chunks.ts';
import { toCompletion } from './completion.ts';
import { answerFailure } from './error.ts';
import { checkHeeded, COMPLETION_TYPES, listIgnoredMembers, toModelParameters } from './model-parameters.ts';
import { checkParameterTypes } from '../parameter-types.ts';

const BASE = '/wire-a/v1';

const COMPLETIONS: RouteEntry = {
  method: 'POST',
  path: `${BASE}/chat/completions`,
  summary: 'Chat with an agent; `model` is the agent name',
  doc: WIRE_A_DOCS.completions,
};
const MODELS = toModelRoutes(BASE, WIRE_A_DOCS, 'List the agents as models');

export const WIRE_A_ROUTES: RouteEntry[] = [COMPLETIONS, MODELS.models, MODELS.model];

export interface WireAOptions extends ChatWireOptions {
  startedAt: number;
}

/** The chat-completions wire: translation only. Its errors are answered as `WIRE_A_ERRORS` (`error.ts`) says. */
export function mountWireA(app: H3, { startedAt, ...options }: WireAOptions): void {
  const wire = {
    name: 'wire-a',
    routes: { turn: COMPLETIONS, ...MODELS },
    toModel: (id: string) => toModel(id, startedAt),
    toModels: (ids: readonly string[]) => ({ object: 'list', data: ids.map((id) => toModel(id, startedAt)) }),
    read: readCompletion,
  };
  mountChatWire((route, handler) => mountRoute(app, route, handler), wire, options);
}

// --- internal ---

interface ChatRequest {
  model: string;
  messages: unknown;
  stream?: unknown;
  stream_options?: { include_usage?: unknown };
  tools?: unknown;
  n?: unknown;
  logprobs?: unknown;
}

function readCompletion({ body, headers, caller }: SentTurn): AskedTurn {
  const request = checkRequest(body);
  const { model } = request;
  requireGrant(caller, 'agents', model);
  checkCounts(request);
  const session = readSession(headers);
  const keepsHistory = session?.kind === 'session';
  const all = toMessages(request.messages, { keepsHistory });
  const { messages, continues } = readMarks(keepsHistory ? newestOf(all) : all);
  if (messages.length === 0)
    throw new BoxError('invalid_request', '"messages" holds nothing after the last answer.', {
      details: { param: 'messages' },
    });
  const tools = toClientTools(request.tools);
  const hasTools = tools.length > 0;
  const boxTools =
    readBoxToolsHeader(headers, { ways: ['hidden', 'shown'], hasTools }) ??
    (hasTools || mayTakeCallsForErrors(headers) ? 'hidden' : 'shown');
  const { stream, stream_options: streamOptions, ...asked } = request;
  return {
    request: {
      agent: model,
      messages,
      tools,
      parameters: toModelParameters(request),
      ...(keepsHistory || continues === undefined ? {} : { continues }),
    },
    session,
    asked,
    isStream: stream === true,
    ignored: listIgnoredMembers(request),
    toAnswer({ runId, startedAt }) {
      const view = {
        id: `chatcmpl-${runId.replaceAll('-', '')}`,
        created: Math.floor(startedAt / 1_000),
        model,
        showTools: boxTools === 'shown',
        toShownId: (callId: string) => (keepsHistory ? callId : markCallId(callId, runId)),
        showLogprobs: request.logprobs === true,
        includeUsage: streamOptions?.include_usage === true,
      };
      return {
        toWhole: (events) => toCompletion(events, view),
        toFrames: (events) => toChunks(events, view),
        fail: answerFailure,
      };
    },
  };
}

function checkRequest(body: unknown): ChatRequest {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new BoxError('invalid_request', 'The body must be a JSON object.');
  const request = body as Partial<ChatRequest>;
  if (typeof request.model !== 'string' || request.model === '')
    throw new BoxError('invalid_request', '"model" must be the name of an agent.', { details: { param: 'model' } });
  checkParameterTypes(body, COMPLETION_TYPES);
  checkHeeded(body);
  if (typeof request.n === 'number' && request.n !== 1)
    throw new BoxError('invalid_request', '"n" must be 1: a turn has one answer.', { details: { param: 'n' } });
  return request as ChatRequest;
}

function toModel(id: string, startedAt: number) {
  return { id, object: 'model', created: Math.floor(startedAt / 1_000), owned_by: 'svc' };
}
