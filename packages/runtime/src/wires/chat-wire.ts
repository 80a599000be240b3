import type { H3Event } from 'h3';
import type { Agents } from '../agents/agents.ts';
import { readAll } from '../agents/events/turn-events.ts';
import type { EventBatches, TurnEvent } from '../agents/events/turn-events.ts';
import type { SessionKind } from '../agents/turn/session-store.ts';
import type { TurnRequest } from '../agents/turn/request.ts';
import type { Caller } from '../auth/caller.ts';
import type { StreamWatch, Watched } from '../auth/credential-watch.ts';
import { answerJson } from '../http/answer.ts';
import { requestIdOf } from '../http/app.ts';
import type { RouteEntry } from '../http/app.ts';
import type { RouteDoc } from '../http/route-doc.ts';
import { answerSse } from '../http/sse.ts';
import type { Frames } from '../http/sse.ts';
import { yieldOnce } from '../yielder.ts';
import { startClientTurn } from './client-turn.ts';
import { untilCut } from './cut.ts';
import { failureIn, holdUntilOutput } from './hold.ts';
import { grantedAgents } from './key.ts';
import type { Authorize } from './key.ts';
import { readChatBody, requireAgent } from './request.ts';
import { nameIgnored } from './ignored.ts';
import { nameRun } from './run-header.ts';
import { readTurnKey } from './turn-key.ts';
import type { TurnFailure } from './wire-error.ts';

/** A wire whose request is one turn, and whose models are the agents: what it has of its own. */
export interface ChatWire {
  /** Of keys: those of another wire are others. */
  name: string;
  routes: { turn: RouteEntry } & ModelRoutes;
  toModel(agent: string): object;
  toModels(agents: readonly string[], query: URLSearchParams): object;
  /** Throws what is wrong with the request, and `forbidden` where its caller is not granted the agent. */
  read(request: SentTurn): AskedTurn;
}

export interface SentTurn {
  body: unknown;
  headers: Headers;
  caller: Caller;
}

export interface AskedTurn {
  request: Pick<TurnRequest, 'agent' | 'messages' | 'tools' | 'parameters' | 'hints' | 'continues'>;
  /** Undefined: a stateless turn. */
  session: { name: string; kind: SessionKind } | undefined;
  /** All that makes the request another one, beside its session. How it is answered does not. */
  asked: object;
  isStream: boolean;
  /** Members of the request that have no effect. */
  ignored: readonly string[];
  toAnswer(turn: AnsweredTurn): TurnAnswer;
}

export interface AnsweredTurn {
  runId: string;
  startedAt: number;
  requestId: string;
}

/** How one turn is answered. */
export interface TurnAnswer {
  toWhole(events: readonly TurnEvent[]): object | undefined;
  toFrames(events: EventBatches): Frames;
  /** What is sent while there is nothing else. Default: a comment. */
  keepAlive?: string;
  /** Of a turn that failed before it had output. */
  fail(failure: TurnFailure): Response;
}

export interface ChatWireOptions {
  agents: Agents;
  authorize: Authorize;
  watch: StreamWatch;
  /** Of answers that are streams: counts them as well. */
  streams: StreamWatch;
}

export type MountChat = (route: RouteEntry, handler: (event: H3Event) => Promise<Response>) => void;

/** Its errors are thrown: the app answers them in the shape of the wire. */
export function mountChatWire(mount: MountChat, wire: ChatWire, options: ChatWireOptions): void {
  const { agents, authorize } = options;
  const { routes } = wire;
  mount(routes.models, async ({ req, url }) => {
    const names = grantedAgents(await authorize(req.headers), await agents.names());
    return answerJson(200, wire.toModels(names, url.searchParams));
  });
  mount(routes.model, async ({ req, context }) => {
    const id = decodeURIComponent(context.params?.id ?? '');
    await requireAgent(agents, id, await authorize(req.headers, id));
    return answerJson(200, wire.toModel(id));
  });
  mount(routes.turn, (event) => answerTurn(event, wire, options));
}

export interface ModelRoutes {
  models: RouteEntry;
  model: RouteEntry;
}

export function toModelRoutes(base: string, docs: Record<keyof ModelRoutes, RouteDoc>, summary: string): ModelRoutes {
  const path = `${base}/models`;
  return {
    models: { method: 'GET', path, summary, doc: docs.models },
    model: { method: 'GET', path: `${path}/:id`, summary: 'Get one agent as a model', doc: docs.model },
  };
}

// --- internal ---

async function answerTurn(event: H3Event, wire: ChatWire, options: ChatWireOptions): Promise<Response> {
  const { authorize, watch, streams } = options;
  const { headers } = event.req;
  // Before the body: a caller without access is refused whatever it sends.
  const caller = await authorize(headers);
  const body = await readChatBody(event.req);
  const asked = wire.read({ body, headers, caller });
  await yieldOnce();
  // Before the turn: one whose answer has no place is not begun.
  const watched = (asked.isStream ? streams : watch).enter(caller);
  try {
    return await answerAsked(event, { wire, asked, caller, watched }, options);
  } catch (error) {
    watched.leave();
    throw error;
  }
}

interface Asking {
  wire: ChatWire;
  asked: AskedTurn;
  caller: Caller;
  watched: Watched;
}

async function answerAsked(
  event: H3Event,
  { wire, asked: turnAsked, caller, watched }: Asking,
  { agents }: ChatWireOptions,
): Promise<Response> {
  const { headers, signal } = event.req;
  const { request, session, asked, isStream, ignored, toAnswer } = turnAsked;
  const key = readTurnKey({ headers, wire: wire.name, caller, asked: [session, asked] });
  await yieldOnce();
  const kept = { ...(session ? { session } : {}), ...(key ? { key } : {}) };
  const turn = await startClientTurn(agents, { ...request, ...kept, isWhole: !isStream }, { caller, signal });
  const { runId, startedAt } = turn;
  const finish = (response: Response): Response => nameIgnored(nameRun(response, runId), ignored);
  const onGone = (): void => {
    turn.onGone();
    watched.leave();
  };
  const read = { events: untilCut(turn, watched) };
  const answer = toAnswer({ runId, startedAt, requestId: requestIdOf(event) });
  if (!isStream) {
    const events = await readAll(read.events);
    const failure = failureIn(events);
    return finish(failure ? answer.fail(failure) : answerJson(200, answer.toWhole(events)));
  }
  const { all, failed } = await holdUntilOutput(read);
  if (failed) {
    watched.leave();
    return finish(answer.fail(failed));
  }
  const { keepAlive } = answer;
  const frames = answer.toFrames(all);
  return finish(answerSse(frames, { onGone, ...(keepAlive === undefined ? {} : { keepAlive }) }));
}
