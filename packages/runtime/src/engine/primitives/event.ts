import type { CallRequest, RunAction } from '../call.ts';
import { currentContext } from '../context.ts';
import { toOwnEventScope } from '../event-owner.ts';
import { EVENT_RULE, isEventName, MOST_MATCH } from '../events.ts';
import type { EventReceipt, SentEvent } from '../events.ts';
import type { RunHandle } from '../handle.ts';
import { isStoreDown, persist } from '../persist.ts';
import { digestOf, encode } from '../serialize.ts';
import { startedByOf } from '../started-by.ts';
import { encodeGiven } from '../values/given.ts';
import { isSurelyLarger } from '../values/size.ts';
import { toStartKey } from './child-workflow.ts';
import { awaitEvent, bodyOf } from './hook.ts';
import { ONCE } from './step.ts';

export interface EventWaitOptions {
  /** Members the payload has to have, with these values; what is within an object may be a part of it, too. No Map or Set. */
  match?: Record<string, unknown> | undefined;
  /** How long it waits: milliseconds, text such as `'2 days'`, or a time. Default: for ever. */
  timeout?: number | string | Date | undefined;
}

/**
 * Waits for the next event of the name that is sent from here on. Undefined: the timeout came first. Works in a workflow body
 * only.
 */
export async function waitForEvent<T>(
  name: string,
  { match, timeout }: EventWaitOptions = {},
): Promise<SentEvent<T> | undefined> {
  const execution = bodyOf('svc.events.wait');
  requireName(name);
  if (match !== undefined && (isSurelyLarger(match, MOST_MATCH) || encode(match, 'match').length > MOST_MATCH))
    throw new TypeError(`"match" of svc.events.wait() may have ${MOST_MATCH} characters.`);
  if (holdsCollection(match))
    throw new TypeError('"match" of svc.events.wait() may hold no Map and no Set: an event has members.');
  const opened = execution.openHook({
    kind: 'event',
    token: null,
    scope: toOwnEventScope(name, startedByOf(execution.run)),
    detail: { name, ...(match === undefined ? {} : { match }) },
    ...(timeout === undefined ? {} : { timeout }),
  });
  const { token, since, expiresAt } = opened;
  const deadline =
    expiresAt === null ? {} : { deadline: { wakeAt: () => expiresAt, payload: null, verdict: 'expired' } };
  const event = await awaitEvent(execution, { kind: 'event', token, n: 0, since, title: name, ...deadline });
  return (event as SentEvent<T> | null) ?? undefined;
}

export interface EventSendOptions {
  /** Names the event among those of its sender: the same id with the same payload is one event for 24 hours. */
  id?: string | undefined;
}

/** Sends an event. In a body it is recorded, in a step it has the step's idempotency key: either way it is sent once. */
export function sendEvent(name: string, payload: unknown, { id }: EventSendOptions = {}): Promise<EventReceipt> {
  const context = currentContext();
  if (!context) throw new Error('svc.events.send() works in a workflow, a step or a tool.');
  requireName(name);
  const { execution } = context;
  if (context.kind === 'step') {
    const what = `event ${name}:${digestOf(encodeGiven(payload, 'payload'))}`;
    return send(execution, { name, payload, id: id ?? toStartKey(context, what) });
  }
  const run: RunAction['run'] = ({ idempotencyKey }) =>
    persist(() => send(execution, { name, payload, id: id ?? idempotencyKey }), SEND_MS, isStoreDown);
  const stepId = `send ${name}`;
  const value = { name, payload, ...(id === undefined ? {} : { id }) };
  const call: CallRequest = {
    kind: 'child',
    stepId,
    ...execution.write({ value, stepId, root: '' }),
    action: { type: 'run', name: `send ${name}`, policy: ONCE, run },
  };
  return execution.invoke(call) as Promise<EventReceipt>;
}

// --- internal ---

/** How long a send waits for the store to come back. */
const SEND_MS = 30_000;

function send(execution: RunHandle, event: { name: string; payload: unknown; id: string }): Promise<EventReceipt> {
  return execution.ambient.sendEvent({ ...event, by: execution.run });
}

/** Its depth is bounded, as it has been encoded. */
function holdsCollection(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return value instanceof Map || value instanceof Set || Object.values(value).some(holdsCollection);
}

function requireName(name: unknown): asserts name is string {
  if (!isEventName(name)) throw new TypeError(`"${String(name)}" is no name of an event: ${EVENT_RULE}`);
}
