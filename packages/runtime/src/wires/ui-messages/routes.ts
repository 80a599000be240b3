import type { H3, H3Event } from 'h3';
import type { Agents } from '../../agents/agents.ts';
import type { AskedThread, AttachedThreads } from '../../agents/threads/attached.ts';
import type { Threads } from '../../agents/threads/threads.ts';
import type { StreamWatch, Watched } from '../../auth/credential-watch.ts';
import { BoxError } from '../../errors.ts';
import { answerJson } from '../../http/answer.ts';
import { mountRoute } from '../../http/app.ts';
import type { RouteEntry } from '../../http/app.ts';
import { answerSse } from '../../http/sse.ts';
import type { Log } from '../../log.ts';
import { toModelParameters } from '../chat-completions/model-parameters.ts';
import { leaveWhenGone } from '../client-turn.ts';
import { untilCut } from '../cut.ts';
import { toGrantedError } from '../key.ts';
import type { Authorize } from '../key.ts';
import { readChatBody } from '../request.ts';
import { UI_DOCS } from '../route-docs.ts';
import { yieldOnce } from '../../yielder.ts';
import { nameRun } from '../run-header.ts';
import { readTurnKey } from '../turn-key.ts';
import type { UiChunk } from './chunk.ts';
import { parseUiRequest } from './input.ts';
import { toAnswers, toSentMessages, toSystemTexts, toUiMessages } from './messages.ts';
import { toAnswerChunks, toAttachedChunks } from './stream.ts';

const BASE = '/ui/v1/agents/:name';
const CHAT = `${BASE}/:chat`;

const SEND: RouteEntry = {
  method: 'POST',
  path: BASE,
  summary: 'Send a chat of `useChat`, and stream the answer; its `id` is the session',
  doc: UI_DOCS.send,
};
const READ: RouteEntry = {
  method: 'GET',
  path: CHAT,
  summary: 'Get the messages of a chat, up to the turn that has not ended',
  doc: UI_DOCS.read,
};
const FOLLOW: RouteEntry = {
  method: 'GET',
  path: `${CHAT}/stream`,
  summary: 'Stream the turn of a chat that has not ended, from its beginning',
  doc: UI_DOCS.follow,
};
const STOP: RouteEntry = {
  method: 'DELETE',
  path: `${CHAT}/stream`,
  summary: 'Cancel the turn of a chat that has not ended',
  doc: UI_DOCS.stop,
};

export const UI_ROUTES: RouteEntry[] = [SEND, READ, FOLLOW, STOP];

export interface UiMessagesOptions {
  agents: Pick<Agents, 'names'>;
  threads: Threads & AttachedThreads;
  log: Log;
  authorize: Authorize;
  streams: StreamWatch;
}

/** The UI message stream of the AI SDK, for `useChat`: translation only. Its errors before a stream are those of the box. */
export function mountUiMessages(app: H3, options: UiMessagesOptions): void {
  const { threads } = options;
  mountRoute(app, SEND, (event) => answerSend(event, options));
  mountRoute(app, READ, async (event) => {
    const thread = await readThread(event, options);
    const messages = await threads.read(thread).catch(granted(thread, options));
    return answerJson(200, { id: thread.name, messages: toUiMessages(messages) }, { 'cache-control': 'no-store' });
  });
  mountRoute(app, FOLLOW, async (event) => {
    const thread = await readThread(event, options);
    const watched = options.streams.enter(thread.caller);
    const attached = await threads.follow(thread).catch((error: unknown) => {
      watched.leave();
      return granted(thread, options)(error);
    });
    // A HEAD has no body that a client could leave.
    if (!attached || event.req.method === 'HEAD') {
      watched.leave();
      attached?.turn.leave();
      return new Response(null, attached ? { headers: PROTOCOL } : { status: 204 });
    }
    const chunks = toAttachedChunks(attached, (turn) => untilCut(turn, watched));
    return nameRun(answerChunks(event, chunks, { turn: attached.turn, watched }), attached.turn.runId);
  });
  mountRoute(app, STOP, async (event) => {
    const thread = await readThread(event, options);
    await threads.stop(thread).catch(granted(thread, options));
    return new Response(null, { status: 204 });
  });
}

// --- internal ---

async function answerSend(event: H3Event, options: UiMessagesOptions): Promise<Response> {
  const { threads, log, streams } = options;
  const { headers } = event.req;
  const agent = decodeURIComponent(event.context.params?.name ?? '');
  const caller = await options.authorize(headers, agent);
  const body = await readChatBody(event.req);
  const request = await parseUiRequest(body);
  await yieldOnce();
  const { id: name, messages, tools } = request;
  const key = readTurnKey({ headers, wire: 'ui', caller, asked: body });
  await yieldOnce();
  const parameters = toModelParameters(request);
  // Before the turn: one whose answer has no place is not begun.
  const watched = streams.enter(caller);
  const begun = await threads
    .begin({
      agent,
      name,
      messages: toSentMessages(messages),
      answers: toAnswers(messages),
      toSystem: () => toSystemTexts(messages),
      tools,
      parameters,
      caller,
      ...(key ? { key } : {}),
    })
    .catch((error: unknown) => {
      watched.leave();
      return granted({ agent, caller }, options)(error);
    });
  let isSent = false;
  // What came beside decisions is asked, whether the client reads the answer or not.
  const leave = (): void => {
    begun.turn?.leave();
    if (isSent || !begun.followed) return;
    isSent = true;
    begun.followed
      .askAlone()
      .catch((error: unknown) =>
        log.warn('What came with a decision is not answered: its client went away.', { agent, error }),
      );
  };
  const chunks = toAnswerChunks(request, begun, (turn) => untilCut(turn, watched));
  const answer = answerChunks(event, chunks, { turn: { leave }, watched, onSent: () => (isSent = true) });
  return nameRun(answer, begun.turn?.runId);
}

/** What a request says of its chat in its address. */
async function readThread(event: H3Event, { authorize }: UiMessagesOptions): Promise<AskedThread> {
  const { name = '', chat = '' } = event.context.params ?? {};
  const agent = decodeURIComponent(name);
  const caller = await authorize(event.req.headers, agent);
  const id = decodeURIComponent(chat);
  if (id.length > LONGEST_NAME)
    throw new BoxError(
      'invalid_request',
      `The id of the chat has ${id.length} characters; ${LONGEST_NAME} are allowed.`,
    );
  return { agent, name: id, caller };
}

/** Rethrows what went wrong, naming no agent that the caller is not granted. */
function granted({ agent, caller }: Pick<AskedThread, 'agent' | 'caller'>, { agents }: UiMessagesOptions) {
  return async (error: unknown): Promise<never> => {
    throw await toGrantedError(error, { agents, agent, caller });
  };
}

interface Reading {
  turn: { leave(): void };
  watched: Watched;
  onSent?(): void;
}

function answerChunks(
  { req: { signal } }: H3Event,
  chunks: AsyncIterable<UiChunk>,
  { turn, watched, onSent }: Reading,
): Response {
  const left = leaveWhenGone(turn, signal);
  const onGone = (): void => {
    left();
    watched.leave();
  };
  return answerSse(toFrames(chunks, { onSent, onEnd: watched.leave }), { onGone, headers: PROTOCOL });
}

async function* toFrames(
  chunks: AsyncIterable<UiChunk>,
  { onSent, onEnd }: { onSent: (() => void) | undefined; onEnd(): void },
): AsyncGenerator<string> {
  try {
    for await (const chunk of chunks) yield `data: ${JSON.stringify(chunk)}\n\n`;
    onSent?.();
    yield 'data: [DONE]\n\n';
  } finally {
    onEnd();
  }
}

/** By which a client knows the version of the protocol. */
const PROTOCOL = { 'x-vercel-ai-ui-message-stream': 'v1' };
const LONGEST_NAME = 256;
