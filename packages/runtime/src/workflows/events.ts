import { randomUUID } from 'node:crypto';
import { isGranted, isOfOwner, scopeOf, toStartedBy, chargedBy } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { toChargedMark } from '../engine/box-marks.ts';
import type { Body } from '../engine/body.ts';
import { currentContext } from '../engine/context.ts';
import { eachOf } from '../engine/each-of.ts';
import type { Engine, StartRequest } from '../engine/engine.ts';
import { toEventOwner, toOwnEventScope } from '../engine/event-owner.ts';
import { EVENT_RULE, isEventName, isMatch, toEventScope } from '../engine/events.ts';
import type { EventReceipt, EventRequest, SentEvent } from '../engine/events.ts';
import type { Journal } from '../engine/journal.ts';
import { RunCancelledError } from '../engine/errors.ts';
import { startWorkflow } from '../engine/primitives/child-workflow.ts';
import type { ManyChildStarted } from '../engine/primitives/child-workflow.ts';
import { callStep } from '../engine/primitives/step.ts';
import type { StepOptions } from '../engine/primitives/step.ts';
import { sleep } from '../engine/primitives/sleep.ts';
import { decode } from '../engine/serialize.ts';
import { startedByOf } from '../engine/started-by.ts';
import type { StartedBy } from '../engine/started-by.ts';
import { digestOfValue } from '../engine/values/digest.ts';
import { encodeGiven } from '../engine/values/given.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { inheritedMarks } from '../engine/worker/new-run.ts';
import { BoxError, idempotencyConflict } from '../errors.ts';
import { toIso } from '../json-value.ts';
import type { Flow } from './flow.ts';
import { maskPayload } from './judge-start.ts';
import type { StartGuardrails } from './judge-start.ts';
import { notArmed } from './refusals.ts';
import { triggerOf } from './start-options.ts';

/** What the run that delivers an event is called among the runs of the box. */
export const EVENT_RUN = 'svc.event';

/** Its code; another name says that what it has recorded is read in another way. */
export const EVENT_CODE = 'svc.event.1';

export interface NewEvent {
  name: string;
  payload: unknown;
  caller: Caller;
  /** The event's id. The same one with the same payload is one event, for 24 hours. */
  idempotencyKey?: string | undefined;
}

/** Events that are sent by name: to runs that wait for them, and to workflows that start by them. */
export interface NamedEvents {
  /** Answers once the event is kept. Throws `invalid_request`, `payload_too_large` above 256 KiB, and what a start does. */
  send(event: NewEvent): Promise<EventReceipt>;
  sendFromCode(event: EventRequest): Promise<EventReceipt>;
  /** The code of the run that delivers an event; undefined: the name is of another. */
  bodyOf(name: string): Body | undefined;
}

export interface NamedEventsOptions {
  catalog: Pick<Catalog, 'workflows'>;
  engine: Engine;
  journal: Pick<Journal, 'hooks' | 'now'>;
  isArmed(): boolean;
  /** Absent: there are no rules. */
  guardrails?: StartGuardrails;
}

/**
 * An event is a run, which delivers it: so it is kept before its sender is answered, goes on after any crash in any replica, is
 * listed, and shows what it has started. Those of one sender and name have one lock, which gives them their order.
 */
export function createNamedEvents({ catalog, engine, journal, isArmed, guardrails }: NamedEventsOptions): NamedEvents {
  const body = createEventBody({ engine, hooks: journal.hooks });
  const keep = async (event: NewKept, how: KeepHow): Promise<EventReceipt> => {
    const { name, workflows } = event;
    if (!isEventName(name)) throw new BoxError('invalid_request', `"${name}" is no name of an event. ${EVENT_RULE}.`);
    if (!isArmed()) throw notArmed();
    const payload = await maskPayload(
      guardrails,
      { event: name, carrier: EVENT_RUN, starts: workflows },
      event.payload,
    );
    const text = encodeGiven(payload, 'payload', MOST_BYTES);
    // The store's clock, as it is what the waits were made by.
    const id = event.id ?? randomUUID();
    const input: Kept = { ...event, id, payload, sentAt: await journal.now() };
    const result = await engine.start({
      kind: 'workflow',
      name: EVENT_RUN,
      input,
      body,
      serial: lockOf(name, how.request.startedBy),
      ...(how.key === undefined ? {} : { idempotencyKey: how.key, digest: digestOfValue([name, payload], text) }),
      ...how.request,
    });
    if (result.outcome === 'idempotency_conflict') throw idempotencyConflict(id);
    if ('run' in result) return { id, name, runId: result.run.runId, triggerId: null };
    if ('triggerId' in result) return { id, name, runId: null, triggerId: result.triggerId };
    throw new Error(`An event cannot come to "${result.outcome}".`);
  };
  /** Those that start by it as it is accepted. */
  const listStarted = (name: string): string[] =>
    catalog.workflows().flatMap(({ entry, definition }) => (definition?.on?.event === name ? [entry.name] : []));
  return {
    async send({ name, payload, caller, idempotencyKey }) {
      const workflows = listStarted(name).filter((workflow) => isGranted(caller, 'workflows', workflow));
      return keep(
        { id: idempotencyKey ?? null, name, payload, workflows },
        {
          key: idempotencyKey === undefined ? undefined : `${scopeOf(caller)} ${name} ${idempotencyKey}`,
          request: {
            trigger: triggerOf(caller),
            startedBy: toStartedBy(caller),
            attributes: toChargedMark(chargedBy(caller)),
          },
        },
      );
    },
    async sendFromCode({ name, payload, id, by }) {
      const startedBy = startedByOf(by);
      return keep(
        { id, name, payload, workflows: listStarted(name) },
        {
          // As JSON: a client and an id may have spaces.
          key: `code ${JSON.stringify([startedBy?.client ?? null, startedBy?.user?.id ?? null, name, id])}`,
          request: { trigger: 'workflow', attributes: inheritedMarks(by), ...(startedBy ? { startedBy } : {}) },
        },
      );
    },
    bodyOf: (name) => (name === EVENT_RUN ? body : undefined),
  };
}

/** How the run that delivers an event is retried. Undefined: the run is another. Throws `run_not_retryable` from its start. */
export function retryFlowOf(run: RunRow, from: 'failed-step' | 'start', input: unknown): Flow | undefined {
  if (run.kind !== 'workflow' || run.name !== EVENT_RUN) return undefined;
  if (from === 'start')
    throw new BoxError(
      'run_not_retryable',
      'The run delivers an event, which reaches each receiver once. Retry it with "from": "failed-step": it goes on where it ended.',
    );
  const serial = lockOf((input as Kept).name, startedByOf(run));
  return { request: { serial }, onConflict: 'queue', replacesId: false };
}

// --- internal ---

/** An event as its run is given it. */
interface Kept {
  id: string;
  name: string;
  payload: unknown;
  /** Those that start by it. */
  workflows: string[];
  /** By the store's clock. */
  sentAt: number;
}

/** Without an id it is given one. */
type NewKept = Omit<Kept, 'sentAt' | 'id'> & { id: string | null };

interface KeepHow {
  key: string | undefined;
  request: Pick<StartRequest, 'trigger' | 'startedBy' | 'attributes'>;
}

/** The order of the events of a name, of each application and each of its users by itself: no event waits for those of another. */
function lockOf(name: string, by: StartedBy | undefined): NonNullable<StartRequest['serial']> {
  const owner = toEventOwner(by);
  return { key: `${EVENT_RUN}:${name}${owner === undefined ? '' : `:${owner}`}`, whenTaken: 'queue' };
}

interface Delivery {
  engine: Pick<Engine, 'resumeHook'>;
  hooks: Journal['hooks'];
}

/** Of a payload: whoever waits for the event has a copy. */
const MOST_BYTES = 262_144;

/** So many waits are read, and so many resumed at a time. */
const PAGE = 200;
const AT_ONCE = 10;

const REPEATED: StepOptions = { maxRetries: 20, backoff: { initial: 500, max: 30_000 } };
const STORE_MS = 5_000;

function createEventBody(delivery: Delivery): Body {
  return {
    codeHash: EVENT_CODE,
    durability: 'synced',
    async run(input) {
      const { id, name, payload, workflows, sentAt } = input as Kept;
      const context = currentContext();
      if (context?.kind !== 'body') throw new Error('An event is delivered by its own run.');
      const { run } = context.execution;
      const event: SentEvent = { id, name, payload, sentAt: toIso(sentAt) };
      const started = await startAll(workflows, payload);
      let resumed = 0;
      for (let after: string | null = ''; after !== null;) {
        const from: string = after;
        const page = () => deliverPage(delivery, { event, sentAt, from, by: startedByOf(run), runId: run.runId });
        const given = (await inStep('deliver', page, from)) as Delivered;
        resumed += given.resumed;
        after = given.after;
      }
      return { resumed, started };
    },
  };
}

interface StartedByEvent {
  workflow: string;
  status: 'started' | 'queued' | 'refused';
  runId?: string;
  triggerId?: string;
  error?: { code: string; message: string };
}

/**
 * Each once: the start is recorded, and has a key. What refuses one refuses no other, nor those who wait, also where it is a
 * schema of the workflow that throws; a store that is away is waited for.
 */
async function startAll(workflows: readonly string[], payload: unknown): Promise<StartedByEvent[]> {
  const started: StartedByEvent[] = [];
  for (const workflow of workflows) {
    for (;;) {
      const one = await startOne(workflow, payload);
      if (one.status !== 'refused') {
        const ids = one.status === 'started' ? { runId: one.runId } : { triggerId: one.triggerId };
        started.push({ workflow, status: one.status, ...ids });
        break;
      }
      if (!PASSING.has(one.error.code)) {
        started.push({ workflow, status: 'refused', error: one.error });
        break;
      }
      await sleep(STORE_MS);
    }
  }
  return started;
}

async function startOne(workflow: string, payload: unknown): Promise<ManyChildStarted> {
  try {
    return await startWorkflow(workflow, payload, { parentClosePolicy: 'abandon' });
  } catch (error) {
    if (RunCancelledError.is(error)) throw error;
    const { code, message } = error as { code?: unknown; message: string };
    return { status: 'refused', error: { code: typeof code === 'string' ? code : 'internal', message } };
  }
}

const PASSING: ReadonlySet<string> = new Set(['store_unavailable', 'store_full', 'shutting_down']);

interface Delivered {
  resumed: number;
  /** The last token that was looked at; null: there are no more. */
  after: string | null;
}

interface PageAsked {
  event: SentEvent;
  sentAt: number;
  from: string;
  by: StartedBy | undefined;
  runId: string;
}

/** Repeated it goes on: who has been given the event waits no more. */
async function deliverPage(
  { engine, hooks }: Delivery,
  { event, sentAt, from, by, runId }: PageAsked,
): Promise<Delivered> {
  const scope = toEventOwner(by) === undefined ? toEventScope(event.name) : toOwnEventScope(event.name, by);
  const waits = await hooks.listOpen({ scope, until: sentAt }, { after: from, limit: PAGE });
  const key = `event ${runId}`;
  let resumed = 0;
  await eachOf(waits, AT_ONCE, async ({ token, detail, startedBy }) => {
    if (!isOfOwner(by, startedByOf({ startedBy }))) return;
    const { match } = (detail === null ? {} : decode(detail)) as { match?: unknown };
    if (match !== undefined && !isMatch(match, event.payload)) return;
    const idempotency = { key, digest: runId };
    const result = await engine.resumeHook(token, event, { verdict: 'received', idempotency });
    if (result?.outcome === 'resumed' || result?.outcome === 'repeated') resumed += 1;
  });
  return { resumed, after: waits.length < PAGE ? null : (waits.at(-1)?.token ?? null) };
}

function inStep(name: string, work: () => Promise<unknown>, from: string): Promise<unknown> {
  const step = Object.assign(() => {}, REPEATED);
  return callStep(`events#${name}`, step, work as () => unknown, undefined, [from]) as Promise<unknown>;
}
