import type { H3, H3Event } from 'h3';
import type { Agents } from '../../agents/agents.ts';
import type { ThreadRequest, Threads } from '../../agents/threads/threads.ts';
import { mountRoute } from '../../http/app.ts';
import type { RouteEntry } from '../../http/app.ts';
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
import { AGUI_DOC } from '../route-docs.ts';
import type { SignThinking } from '../thinking-signature.ts';
import { readTurnKey } from '../turn-key.ts';
import { readClientState, toSystemTexts } from './context.ts';
import { toAnswers } from './decision.ts';
import { parseRunInput } from './input.ts';
import type { RunAgentInput } from './input.ts';
import { toSentMessages } from './messages.ts';
import { toAguiEvents } from './stream.ts';

const RUN: RouteEntry = {
  method: 'POST',
  path: '/agui/v1/agents/:name',
  summary: 'Run an agent over AG-UI; `threadId` is the session',
  doc: AGUI_DOC,
};

export const AGUI_ROUTES: RouteEntry[] = [RUN];

export interface AguiOptions {
  agents: Pick<Agents, 'names'>;
  threads: Threads;
  log: Log;
  authorize: Authorize;
  streams: StreamWatch;
  signThinking: SignThinking;
}

/** The AG-UI wire, version 1.0: translation only. What it refuses before a stream is answered as `AGUI_ERRORS` (`error.ts`) says. */
export function mountAgui(app: H3, options: AguiOptions): void {
  mountRoute(app, RUN, (event) => answerRun(event, options));
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
  const request = { agent, ...toThread(input), caller, ...(key ? { key } : {}) };
  // Before the turn: one whose answer has no place is not begun.
  const watched = options.streams.enter(caller);
  const begun = await options.threads.begin(request).catch(async (error: unknown) => {
    watched.leave();
    throw await toGrantedError(error, { agents: options.agents, agent, caller });
  });
  let isSent = false;
  const leave = (): void => {
    begun.turn?.leave();
    if (isSent || !begun.followed) return;
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
  const events = toAguiEvents(input, begun, {
    signThinking: options.signThinking,
    read: (turn) => untilCut(turn, watched),
  });
  return answerSse(toFrames(events, { onSent: () => (isSent = true), onEnd: watched.leave }), { onGone });
}

function toThread(input: RunAgentInput): Omit<ThreadRequest, 'agent' | 'caller' | 'key'> {
  const { threadId, messages, resume, tools, forwardedProps } = input;
  return {
    name: threadId,
    messages: toSentMessages(messages),
    answers: toAnswers(resume),
    toSystem: (kept) => toSystemTexts(input, readClientState(input.state, kept)),
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
