import type { H3, H3Event } from 'h3';
import type { Agents, Surroundings } from '../../agents/agents.ts';
import type { AskedThread, AttachedThreads, AttachedTurn } from '../../agents/threads/attached.ts';
import type { BegunThread, ThreadRequest, Threads } from '../../agents/threads/threads.ts';
import { BoxError } from '../../errors.ts';
import { mountRoute } from '../../http/app.ts';
import type { RouteEntry } from '../../http/app.ts';
import type { Prompts } from '../../prompts/prompts.ts';
import type { StreamWatch } from '../../auth/credential-watch.ts';
import { answerSse } from '../../http/sse.ts';
import type { Log } from '../../log.ts';
import { toModelParameters } from '../chat-completions/model-parameters.ts';
import { yieldOnce } from '../../yielder.ts';
import { leaveWhenGone } from '../client-turn.ts';
import { untilCut } from '../cut.ts';
import { toGrantedError } from '../key.ts';
import type { Authorize } from '../key.ts';
import { readChatBody } from '../request.ts';
import { AGUI_DOCS } from '../route-docs.ts';
import { nameRun } from '../run-header.ts';
import type { SignThinking } from '../thinking-signature.ts';
import { readTurnKey } from '../turn-key.ts';
import { readClientState, toSystemTexts } from './context.ts';
import { toPointerTexts } from './pointer.ts';
import { toAnswers } from './decision.ts';
import { parseRunInput } from './input.ts';
import type { RunAgentInput } from './input.ts';
import { toSentMessages } from './messages.ts';
import { pinAsked } from './prompts.ts';
import { toAguiEvents, toRejoinedEvents } from './stream.ts';
import { toRepeatedEvents } from './repeated.ts';
import type { ReadTurn } from './stream.ts';

const RUN: RouteEntry = {
  method: 'POST',
  path: '/agui/v1/agents/:name',
  summary: 'Run an agent over AG-UI; `threadId` is the session',
  doc: AGUI_DOCS.run,
};
const STOP: RouteEntry = {
  method: 'DELETE',
  path: '/agui/v1/agents/:name/:thread/stream',
  summary: 'Cancel the turn of a thread that has not ended',
  doc: AGUI_DOCS.stop,
};

export const AGUI_ROUTES: RouteEntry[] = [RUN, STOP];

export interface AguiOptions {
  agents: Pick<Agents, 'names' | 'surroundingsOf'>;
  threads: Threads & AttachedThreads;
  prompts: Pick<Prompts, 'get' | 'getVersion'>;
  log: Log;
  authorize: Authorize;
  streams: StreamWatch;
  signThinking: SignThinking;
}

/** The AG-UI wire, version 1.0: translation only. What it refuses before a stream is answered as `AGUI_ERRORS` (`error.ts`) says. */
export function mountAgui(app: H3, options: AguiOptions): void {
  mountRoute(app, RUN, (event) => answerRun(event, options));
  mountRoute(app, STOP, (event) => answerStop(event, options));
}

// --- internal ---

async function answerRun(event: H3Event, options: AguiOptions): Promise<Response> {
  const { signal, headers } = event.req;
  const agent = decodeURIComponent(event.context.params?.name ?? '');
  const caller = await options.authorize(headers, agent);
  const body = await readChatBody(event.req);
  const input = await parseRunInput(body);
  await yieldOnce();
  // What the client calls this run is echoed to it, and nothing else.
  const asked = { ...(body as object), runId: undefined, parentRunId: undefined };
  const key = readTurnKey({ headers, wire: 'agui', caller, asked });
  await yieldOnce();
  const pinned = await pinAsked(options.prompts, input, caller);
  const thread = toThread(input, options.agents.surroundingsOf(agent));
  const request = { agent, ...thread, pinned, caller, ...(key ? { key } : {}) };
  // Before the turn: one whose answer has no place is not begun.
  const watched = options.streams.enter(caller);
  const begun = await beginOrRejoin(options.threads, request).catch(async (error: unknown) => {
    watched.leave();
    throw await toGrantedError(error, { agents: options.agents, agent, caller });
  });
  let isSent = false;
  const leave = (): void => {
    begun.turn?.leave();
    if (isSent || !('followed' in begun) || !begun.followed) return;
    isSent = true;
    begun.followed
      .askAlone()
      .catch((error: unknown) =>
        options.log.warn('What came with a resume is not answered: its client went away.', { agent, error }),
      );
  };
  const left = leaveWhenGone({ leave }, signal);
  const onGone = (): void => {
    left();
    watched.leave();
  };
  const { signThinking } = options;
  const read: ReadTurn = (turn) => untilCut(turn, watched);
  const how = { signThinking, read };
  const events =
    'repeated' in begun
      ? toRepeatedEvents(input, begun.repeated, how)
      : 'asked' in begun
        ? toRejoinedEvents(input, begun, how)
        : toAguiEvents(input, begun, how);
  return nameRun(
    answerSse(toFrames(events, { onSent: () => (isSent = true), onEnd: watched.leave }), { onGone }),
    begun.turn?.runId,
  );
}

/** A turn under way that its client asks for again, under its key. */
interface RepeatedTurn extends Pick<AttachedTurn, 'turn'> {
  repeated: AttachedTurn;
}

/** A request that says nothing new is no other turn: it reads on in the one that is under way. */
async function beginOrRejoin(
  threads: Threads & AttachedThreads,
  request: ThreadRequest,
): Promise<BegunThread | AttachedTurn | RepeatedTurn> {
  const { key, answers } = request;
  const repeated = key && answers.length === 0 ? await threads.followKeyed(request, key) : undefined;
  if (repeated) return { turn: repeated.turn, repeated };
  try {
    return await threads.begin(request);
  } catch (error) {
    if (!(error instanceof BoxError) || error.code !== 'turn_in_progress' || answers.length > 0) throw error;
    // None where it says something, which is refused again, and where the turn has ended meanwhile.
    return (await threads.rejoin(request, request.messages)) ?? threads.begin(request);
  }
}

async function answerStop(event: H3Event, { agents, threads, authorize }: AguiOptions): Promise<Response> {
  const { name: of = '', thread = '' } = event.context.params ?? {};
  const agent = decodeURIComponent(of);
  const caller = await authorize(event.req.headers, agent);
  const asked: AskedThread = { agent, name: decodeURIComponent(thread), caller };
  await threads.stop(asked).catch(async (error: unknown) => {
    throw await toGrantedError(error, { agents, agent, caller });
  });
  return new Response(null, { status: 204 });
}

function toThread(input: RunAgentInput, taken: Surroundings): Omit<ThreadRequest, 'agent' | 'caller' | 'key'> {
  const { threadId, messages, resume, tools, forwardedProps } = input;
  return {
    name: threadId,
    messages: toSentMessages(messages),
    answers: toAnswers(resume),
    toSystem: (kept) =>
      taken === 'all'
        ? toSystemTexts(input, readClientState(input.state, kept))
        : taken === 'none'
          ? []
          : toPointerTexts(input),
    tools,
    parameters: typeof forwardedProps === 'object' && forwardedProps !== null ? toModelParameters(forwardedProps) : {},
  };
}

async function* toFrames(
  events: AsyncIterable<object>,
  { onSent, onEnd }: { onSent(): void; onEnd(): void },
): AsyncGenerator<string> {
  try {
    for await (const event of events) yield `data: ${JSON.stringify(event)}\n\n`;
    onSent();
  } finally {
    onEnd();
  }
}
