import type { H3, H3Event } from 'h3';
import { z } from 'zod';
import type { Auth } from '../auth/auth.ts';
import type { StreamWatch } from '../auth/credential-watch.ts';
import { isOwnRun, may, requireGrant, requirePermission } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { hiddenFrom, isHidden } from '../auth/visibility.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { startedByOf } from '../engine/started-by.ts';
import { isFinal } from '../engine/journal/run.ts';
import { STREAM_END } from '../engine/values/stream-ref.ts';
import { BoxError } from '../errors.ts';
import { hideWebhookTokens } from '../hooks/hide-tokens.ts';
import type { RouteEntry } from '../http/app.ts';
import { mountRoute } from '../http/app.ts';
import { readJson } from '../http/body.ts';
import { untilExpired } from '../http/expiry.ts';
import { answerSse, RECONNECT, RETRY_HINT } from '../http/sse.ts';
import { readIdempotencyKey, withoutUndefined } from '../operations/inputs.ts';
import { toShownValue } from '../json-value.ts';
import { toRun } from '../runs/run.ts';
import { wholeRun } from '../engine/large-values.ts';
import type { Workflows } from './workflows.ts';

export interface WorkflowChatOptions {
  auth: Pick<Auth, 'authenticate'>;
  streams: StreamWatch;
  engine: Engine;
  journal: Journal;
  workflows: Workflows;
}

const ROUTE: RouteEntry = {
  method: 'POST',
  path: '/api/workflows/:name/chat',
  summary: 'Open a chat workflow; streams the frames its steps write, and resumes with Last-Event-ID',
  doc: {
    id: 'workflows.chat',
    tag: 'workflows',
    security: 'caller',
    errors: [
      'workflow_not_found',
      'workflow_not_chat',
      'workflow_input_invalid',
      'workflow_busy',
      'workflow_compile_failed',
      'workflow_runtime_not_armed',
      'idempotency_conflict',
      'run_not_found',
      'shutting_down',
      'too_many_streams',
    ],
    headers: {
      'last-event-id': 'The last event the client has: the stream goes on after it',
      'idempotency-key': 'The same key answers with the stream of the same run for 24 hours',
    },
    query: { lastEventId: 'The same as the header' },
    body: z.unknown(),
    answers: { 200: { description: 'The frames', content: { 'text/event-stream': undefined } } },
  },
};
export const CHAT_ROUTES: RouteEntry[] = [ROUTE];

const BATCH = 100;

/**
 * One event stream per run: `run` names it, `frame` carries what a step wrote to the default stream, `end` carries
 * status, output and error. Each event has an id `<runId>:<n>`; sent back as Last-Event-ID (or `?lastEventId=`) it goes
 * on after that one. An id the journal has nothing to go on from is answered with `reset`, and then with what there is.
 * This holds on any replica: a box that shuts down ends the stream with a `retry` hint and no `end`.
 */
export function mountWorkflowChat(app: H3, options: WorkflowChatOptions): void {
  mountRoute(app, ROUTE, async (event: H3Event) => {
    const name = decodeURIComponent(event.context.params?.name ?? '');
    const caller = await options.auth.authenticate(event.req.headers);
    if (caller.role === null) requireGrant(caller, 'workflows', name);
    else requirePermission(caller, 'workflows:start');
    options.workflows.requireChat(name);
    const watched = options.streams.enter(caller);
    try {
      const lastEvent = event.req.headers.get('last-event-id') ?? event.url.searchParams.get('lastEventId');
      const position = lastEvent
        ? await resume(lastEvent, { name, journal: options.journal, caller })
        : await begin(event, name, { workflows: options.workflows, caller });
      const gone = new AbortController();
      const release = () => {
        gone.abort();
        watched.leave();
      };
      const all = frames(position, options, gone.signal);
      const shown = may(caller, 'hitl:decide') ? all : (hideWebhookTokens(all) as typeof all);
      const sent = untilExpired(shown, watched, release);
      return answerSse(sent, { onGone: release });
    } catch (error) {
      watched.leave();
      throw error;
    }
  });
}

// --- internal ---

interface Position {
  runId: string;
  /** The last event the client has: 0 is `run`. Undefined: none. */
  after: number | undefined;
  /** The client is to forget what it has. */
  isReset?: boolean;
}

async function begin(
  event: H3Event,
  name: string,
  { workflows, caller }: { workflows: Workflows; caller: Caller },
): Promise<Position> {
  const input = await readJson(event.req, { emptyAs: {} });
  const idempotencyKey = readIdempotencyKey(event.req.headers);
  const receipt = await workflows.start(
    name,
    input,
    withoutUndefined({ trigger: 'chat' as const, caller, idempotencyKey }),
  );
  if (receipt.status === 'started') return { runId: receipt.runId, after: undefined };
  throw new BoxError('workflow_busy', `Workflow "${name}" runs one at a time, and this start waits in its queue.`, {
    details: { triggerId: receipt.triggerId },
  });
}

interface Resumed {
  name: string;
  journal: Journal;
  caller: Caller;
}

async function resume(lastEvent: string, { name, journal, caller }: Resumed): Promise<Position> {
  const [, runId = '', after] = /^([\da-f-]{36}):(\d{1,15})$/.exec(lastEvent) ?? [];
  if (after === undefined) throw new BoxError('invalid_request', `"${lastEvent}" is no event id of this stream.`);
  const run = await journal.getRun(runId);
  // The run was deleted, or the journal is an older copy that has not come as far.
  // What is another caller's is answered like what there is not, so to a key neither is a reset.
  if (!run && caller.role !== null) return { runId, after: 0, isReset: true };
  const isShown = run && !isHidden(run, hiddenFrom(caller)) && isOwnRun(caller, startedByOf(run));
  if (isShown && run.name === name && run.kind === 'workflow') {
    const isKnown = await hasChunk(journal, runId, Number(after));
    return { runId, after: isKnown ? Number(after) : 0, isReset: !isKnown };
  }
  throw new BoxError('run_not_found', `There is no run "${runId}" of workflow "${name}".`);
}

async function hasChunk(journal: Journal, runId: string, n: number): Promise<boolean> {
  if (n === 0) return true;
  const [chunk] = await journal.chunks.read(runId, 'default', { after: n - 1, limit: 1 });
  return chunk?.n === n;
}

async function* frames(
  { runId: first, after, isReset }: Position,
  { engine, journal }: WorkflowChatOptions,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let runId = first;
  const stop = AbortSignal.any([signal, engine.closing]);
  yield RECONNECT;
  if (isReset) yield toEvent('reset', `${runId}:0`, { runId });
  if (after === undefined) yield toEvent('run', `${runId}:0`, { runId });
  let last = after ?? 0;
  while (!signal.aborted) {
    const changed = engine.nextChange(runId, stop);
    // The run is read before its frames: what it wrote before it ended is among them.
    const run = await journal.getRun(runId);
    const chunks = await journal.chunks.read(runId, 'default', { after: last, limit: BATCH });
    for (const { n, payload } of chunks) {
      if (payload !== STREAM_END) yield toEvent('frame', `${runId}:${n}`, toShownValue(payload));
      last = n;
    }
    if (chunks.length > 0) continue;
    if (run?.continuedTo) {
      runId = run.continuedTo;
      last = 0;
      yield toEvent('run', `${runId}:0`, { runId });
      continue;
    }
    if (!run || isFinal(run.status))
      return yield toEvent('end', `${runId}:${last}`, toEnd(run && (await wholeRun(engine, run))));
    if (engine.closing.aborted) return yield RETRY_HINT;
    await changed;
  }
}

function toEnd(row: RunRow | undefined) {
  if (!row) return { status: 'deleted', output: null, error: null };
  const { status, output, error } = toRun(row);
  return { status, output, error: error && { code: error.code, message: error.message } };
}

function toEvent(name: string, id: string, data: unknown): string {
  return `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
