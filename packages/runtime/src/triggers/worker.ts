import { randomUUID } from 'node:crypto';
import { runOutside } from '../engine/context.ts';
import { isStoreDown } from '../engine/persist.ts';
import { BoxError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import type { Log } from '../log.ts';
import { createLookPace } from '../look-pace.ts';
import type { Mask } from '../mask.ts';
import type { DeliveryLeases, Settled } from './delivery-leases.ts';
import type { DeliveryRow, DeliveryRows } from './delivery-rows.ts';
import type { TriggerLimits } from './limits.ts';
import type { StartDelivery } from './start.ts';
import type { DeliveryProblem, StoredTrigger } from './store.ts';

export interface Worker {
  /** Starts what is due, unless that is under way. Never waits and never throws. */
  sweep(): void;
  /** There is one that is due. */
  nudge(): void;
  close(): Promise<void>;
}

export interface WorkerOptions {
  deliveries: DeliveryLeases & Pick<DeliveryRows, 'forget'>;
  findTriggers(ids: readonly string[]): Promise<Map<string, StoredTrigger>>;
  start: StartDelivery;
  /** False: there is nothing in the store, or it is not open yet. */
  isUsed(): boolean;
  limits: TriggerLimits;
  mask: Pick<Mask, 'text'>;
  log: Log;
}

/**
 * Delivers what is stored. One replica has a delivery at a time, for as long as its lease; a start carries the delivery as its
 * key. So a process that dies in between leaves one that another starts, once.
 */
export function createWorker(options: WorkerOptions): Worker {
  const { deliveries, findTriggers, start, isUsed, limits, mask, log } = options;
  const closing = new AbortController();
  let passing: Promise<void> | undefined;
  let isAsked = false;
  const pace = createLookPace(limits.lookMs);
  let forgetAt = 0;

  const attempt = async (trigger: StoredTrigger | undefined, delivery: DeliveryRow): Promise<Settled | undefined> => {
    if (!trigger) return undefined;
    // It was disabled just now.
    if (!trigger.enabled) return untouched(delivery);
    // It was taken so often, and no one came to say how that ended: it may end processes.
    if (delivery.attempts > limits.tries) return { state: 'dead', problem: TAKEN_TOO_OFTEN };
    try {
      return { state: 'delivered', ...(await start(trigger, delivery)) };
    } catch (error) {
      if (!(error instanceof BoxError))
        log.error('A delivery could not start its run.', { delivery: delivery.id, error });
      return toFailure(error, { delivery, trigger, limits, mask });
    }
  };
  const deliver = async (leaseId: string, trigger: StoredTrigger | undefined, delivery: DeliveryRow): Promise<void> => {
    const settled = await attempt(trigger, delivery);
    if (!settled) return;
    if (settled.state === 'dead')
      log.error('A delivery of a trigger is a dead letter.', {
        trigger: delivery.triggerId,
        delivery: delivery.id,
        reason: settled.problem.message,
      });
    await deliveries.settle(leaseId, delivery.id, settled);
  };
  const pass = async (): Promise<void> => {
    for (let isMore = true; isMore && !closing.signal.aborted;) {
      const leaseId = randomUUID();
      const taken = await deliveries.take(leaseId, BATCH);
      isMore = taken.length === BATCH;
      if (taken.length > 0) pace.found();
      const triggers = await findTriggers([...new Set(taken.map(({ triggerId }) => triggerId))]);
      await Promise.all(taken.map((delivery) => deliver(leaseId, triggers.get(delivery.triggerId), delivery)));
    }
    const next = await deliveries.nextIn();
    if (next !== undefined) pace.dueIn(next);
    if (performance.now() < forgetAt) return;
    forgetAt = performance.now() + FORGET_EVERY_MS;
    await deliveries.forget();
  };
  const begin = (): void => {
    if (closing.signal.aborted || passing) return;
    isAsked = false;
    passing = runOutside(pass)
      .catch((error: unknown) => {
        pace.dueIn(limits.lookMs);
        if (!closing.signal.aborted && !isStoreDown(error))
          log.error('Deliveries of triggers could not be started.', { error });
      })
      .finally(() => {
        passing = undefined;
        if (isAsked) begin();
      });
  };
  return {
    sweep() {
      if (isUsed() && pace.isTime()) begin();
    },
    nudge() {
      isAsked = true;
      begin();
    },
    async close() {
      closing.abort();
      await passing;
    },
  };
}

// --- internal ---

const BATCH = 20;
const FORGET_EVERY_MS = 3_600_000;
const MOST_ISSUES = 20;
const MOST_MESSAGE = 1_000;

const TAKEN_TOO_OFTEN: DeliveryProblem = {
  code: 'internal',
  message: 'It was tried as often as it may be, and no attempt came to an end.',
  issues: [],
};

/** Its time has not come: a run is in its way, or the box is just beginning. */
const BUSY = new Set<ErrorCode>([
  'workflow_busy',
  'turn_in_progress',
  'workflow_runtime_not_armed',
  'agent_runtime_not_armed',
  'shutting_down',
]);

/** It waits on as it did. */
function untouched({ state, problem }: DeliveryRow): Settled {
  return {
    state: state === 'failed' ? 'failed' : 'pending',
    problem: problem === null ? null : (JSON.parse(problem) as DeliveryProblem),
    inMs: 0,
    isNoTry: true,
  };
}

interface Attempted extends Pick<WorkerOptions, 'limits' | 'mask'> {
  delivery: DeliveryRow;
  trigger: StoredTrigger;
}

function toFailure(error: unknown, { delivery, trigger, limits, mask }: Attempted): Settled {
  const { attempts, receivedAt } = delivery;
  // What waited for its trigger to be enabled has waited for no run.
  const since = Math.max(receivedAt.getTime(), trigger.updatedAt.getTime());
  const problem = toProblem(error, mask);
  const code = error instanceof BoxError ? error.code : 'internal';
  const isYoung = Date.now() - since < limits.busyForMs;
  if (code === 'shutting_down') return { state: 'pending', problem: null, inMs: 0, isNoTry: true };
  if (BUSY.has(code) && isYoung) return { state: 'failed', problem, inMs: limits.busyMs, isNoTry: true };
  // The run began in an attempt whose end was not noted, and the mapping was changed since.
  if (code === 'idempotency_conflict') return { state: 'delivered', runId: null, queueId: null };
  if (attempts >= limits.tries || isFinal(error)) return { state: 'dead', problem };
  const inMs = Math.min(limits.longestRetryMs, limits.firstRetryMs * 2 ** (attempts - 1));
  return { state: 'failed', problem, inMs: inMs * (0.9 + Math.random() * 0.2) };
}

/** It would fail the same way again. What is not there may come with a deploy. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof BoxError)) return false;
  const { status } = error;
  return status >= 400 && status < 500 && ![404, 408, 409, 429].includes(status);
}

function toProblem(error: unknown, mask: Pick<Mask, 'text'>): DeliveryProblem {
  const { code, message, details } =
    error instanceof BoxError
      ? error
      : { code: 'internal', message: 'The start failed; the log says why.', details: undefined };
  const issues = Array.isArray(details?.issues) ? (details.issues as DeliveryProblem['issues']) : [];
  return {
    code,
    message: mask.text(message.slice(0, MOST_MESSAGE)),
    issues: issues.slice(0, MOST_ISSUES).map(({ path, message: what }) => ({
      path,
      message: mask.text(what.slice(0, MOST_MESSAGE)),
    })),
  };
}
