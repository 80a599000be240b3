import type { H3, H3Event } from 'h3';
import { mountRoute } from '../../http/app.ts';
import type { RouteEntry } from '../../http/app.ts';
import { answerSse } from '../../http/sse.ts';
import { askAlone, toAguiEvents } from './stream.ts';
import { parseRunInput } from './input.ts';
import { beginRun } from './run.ts';
import type { RunOptions } from './run.ts';
import { leaveWhenGone } from '../client-turn.ts';
import { toGrantedError } from '../key.ts';
import type { Authorize } from '../key.ts';
import { readChatBody } from '../request.ts';
import { AGUI_DOC } from '../route-docs.ts';
import type { SignThinking } from '../thinking-signature.ts';
import { readTurnKey } from '../turn-key.ts';

const RUN: RouteEntry = {
  method: 'POST',
  path: '/agui/v1/agents/:name',
  summary: 'Run an agent over AG-UI; `threadId` is the session',
  doc: AGUI_DOC,
};

export const AGUI_ROUTES: RouteEntry[] = [RUN];

export interface AguiOptions extends RunOptions {
  authorize: Authorize;
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
  // What the client calls this run is echoed to it, and nothing else.
  const asked = { ...(body as object), runId: undefined, parentRunId: undefined };
  const key = readTurnKey({ headers, wire: 'agui', caller, asked });
  const begun = await beginRun(options, { agent, input, caller, ...(key ? { key } : {}) }).catch(
    async (error: unknown) => {
      throw await toGrantedError(error, { agents: options.agents, agent, caller });
    },
  );
  let isSent = false;
  const leave = (): void => {
    begun.turn?.leave();
    if (isSent || !begun.followed) return;
    isSent = true;
    askAlone(options, input, begun.followed).catch((error: unknown) =>
      options.log.warn('What came with a resume is not answered: its client went away.', { agent, error }),
    );
  };
  const onGone = leaveWhenGone({ leave }, signal);
  const events = toAguiEvents(options, input, begun);
  return answerSse(
    toFrames(events, () => (isSent = true)),
    { onGone },
  );
}

async function* toFrames(events: AsyncIterable<object>, onSent: () => void): AsyncGenerator<string> {
  for await (const event of events) yield `data: ${JSON.stringify(event)}\n\n`;
  onSent();
}
