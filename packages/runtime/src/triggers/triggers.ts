import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Agents } from '../agents/agents.ts';
import { toStartedBy } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import type { Connections } from '../connections/connections.ts';
import { BoxError } from '../errors.ts';
import { toArmedBy } from '../jobs/armed-by.ts';
import type { Log } from '../log.ts';
import type { Mask } from '../mask.ts';
import { parseIdCursor, toIdCursor } from '../operations/cursor.ts';
import type { EgressPolicy } from '../provider/egress.ts';
import type { MasterKey } from '../secrets/seal.ts';
import { createSecretStore } from '../secrets/store.ts';
import type { SecretStore } from '../secrets/store.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { createCountingKv } from '../stores/kv-counting.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import type { Workflows } from '../workflows/workflows.ts';
import { createDeliveryLeases } from './delivery-leases.ts';
import { createDeliveryRows } from './delivery-rows.ts';
import { checkSecret, withGiven } from './given.ts';
import type { GivenTrigger } from './given.ts';
import { createInbound } from './inbound.ts';
import type { Received } from './inbound.ts';
import { queueFull, TRIGGER_LIMITS } from './limits.ts';
import type { TriggerLimits } from './limits.ts';
import { asksForOther } from './poll-settings.ts';
import { createPolling } from './polling.ts';
import { toDelivery, toTrigger } from './show.ts';
import { createStartDelivery } from './start.ts';
import { NO_SETTINGS } from './store.ts';
import type { SecretChange, StoredTrigger, Trigger, TriggerDelivery, TriggerTarget } from './store.ts';
import { createTriggerRows, SECRET_OWNER } from './trigger-rows.ts';
import type { Changed } from './trigger-rows.ts';
import { createWorker } from './worker.ts';

export type NewTrigger = GivenTrigger & {
  name: string;
  target: TriggerTarget;
  secret?: string | undefined;
};

export interface Triggers {
  /** By id. Throws `invalid_cursor`. */
  list(page: { limit: number; cursor?: string }): Promise<{ items: Trigger[]; nextCursor: string | null }>;
  /** With its newest deliveries. Throws `trigger_not_found`. */
  get(id: string): Promise<Trigger & { deliveries: TriggerDelivery[] }>;
  /** Throws `trigger_invalid`, `too_many_triggers`, and what its target is not there with. */
  create(trigger: NewTrigger, by: string): Promise<Trigger>;
  /** Throws `trigger_not_found` and `trigger_invalid` likewise. */
  update(id: string, given: GivenTrigger & SecretChange): Promise<Trigger>;
  /** Throws `trigger_not_found`, `delivery_not_found`, `trigger_queue_full`. */
  redeliver(id: string, deliveryId: string, caller: Caller): Promise<TriggerDelivery>;
  /** Throws `trigger_not_found`. */
  delete(id: string): Promise<void>;
  /** Takes in what a sender has sent. Throws `invalid_signature`. */
  receive(id: string, request: Request, address: string): Promise<Received>;
  /** Asks for what is due, and starts it. Never waits and never throws. */
  sweep(): void;
  close(): Promise<void>;
}

export interface TriggersOptions {
  db: Drizzle;
  key: MasterKey;
  installation(): Promise<string>;
  kv: KeyValueStore | undefined;
  workflows: Pick<Workflows, 'start' | 'get'>;
  agents: Pick<Agents, 'startTurn' | 'requireAgent'>;
  connections: Pick<Connections, 'get' | 'fetch'>;
  /** What polls may call. */
  egress: EgressPolicy;
  /** False: there is nothing in the store, or it is not open yet. */
  isUsed(): boolean;
  /** The address of the box. */
  url(): string;
  mask: Pick<Mask, 'addPassing' | 'text'>;
  log: Log;
  limits?: Partial<TriggerLimits> | undefined;
}

export const INBOUND_PREFIX = '/api/inbound/';

export function createTriggers(options: TriggersOptions): Triggers {
  const { db, workflows, agents, url, mask } = options;
  const limits = { ...TRIGGER_LIMITS, ...options.limits };
  const rows = createTriggerRows(db, createVault(options));
  const deliveries = createDeliveryRows(db, limits);
  const start = createStartDelivery({ workflows, agents });
  const worker = createWorker({
    ...options,
    deliveries: { ...deliveries, ...createDeliveryLeases(db, limits) },
    findTriggers: rows.findMany,
    start,
    limits,
  });
  const inbound = createInbound({
    find: rows.find,
    readSecrets: rows.readSecrets,
    add: deliveries.add,
    kv: createCountingKv(options.kv),
    mask,
    limits,
    url,
    newDeliveryId,
  });
  const polling = createPolling({
    ...options,
    findTriggers: rows.findMany,
    newDeliveryId,
    async stored(id, count) {
      worker.nudge();
      await noteTaken(id, count);
    },
    limits,
  });
  const urlOf = (id: string) => `${url()}${INBOUND_PREFIX}${id}`;
  let taken = 0;

  const find = async (id: string) => {
    const found = await rows.find(id);
    if (!found) throw triggerNotFound(id);
    return found;
  };
  const show = async (id: string): Promise<Trigger> => {
    const [found, last] = await Promise.all([find(id), deliveries.listLast([id])]);
    return toTrigger(found, urlOf(id), last.get(id));
  };
  /** What is sent or found often is held to what is kept, and not looked after each time. */
  const noteTaken = async (id: string, count: number): Promise<void> => {
    taken += count;
    if (taken < FORGET_EACH) return;
    taken = 0;
    await deliveries.forget(id);
  };

  return {
    async list({ limit, cursor }) {
      const found = await rows.list(cursor === undefined ? undefined : parseIdCursor(cursor), limit + 1);
      const items = found.slice(0, limit);
      const last = await deliveries.listLast(items.map(({ trigger }) => trigger.id));
      const end = found.length > limit ? items.at(-1) : undefined;
      return {
        items: items.map((item) => toTrigger(item, urlOf(item.trigger.id), last.get(item.trigger.id))),
        nextCursor: end ? toIdCursor(end.trigger.id) : null,
      };
    },
    async get(id) {
      const [trigger, recent] = await Promise.all([show(id), deliveries.listRecent(id, SHOWN)]);
      return { ...trigger, deliveries: recent.map(toDelivery) };
    },
    async create({ secret, ...given }, by) {
      const { name, target } = given;
      const trigger = withGiven({ name, target, enabled: true, settings: NO_SETTINGS }, given);
      checkSecret(trigger.settings.signature, secret);
      requireTarget(options, target);
      await polling.requireReachable(trigger.settings.poll);
      const id = `trg_${randomBytes(16).toString('base64url')}`;
      if (!(await rows.create({ ...trigger, id, createdBy: by }, secret))) throw tooMany();
      if (trigger.settings.poll) polling.nudge();
      return show(id);
    },
    async update(id, { secret, dropsPrevious, ...given }) {
      const change = (before: StoredTrigger): Changed => {
        const changed = withGiven(before, given);
        checkSecret(changed.settings.signature, secret);
        return { changed, polls: toPollChange(before.settings, changed.settings) };
      };
      const { changed } = change((await find(id)).trigger);
      requireTarget(options, given.target);
      if (given.poll) await polling.requireReachable(changed.settings.poll);
      if (!(await rows.update(id, change, { secret, dropsPrevious }))) throw triggerNotFound(id);
      if (changed.settings.poll) polling.nudge();
      if (given.enabled) worker.nudge();
      return show(id);
    },
    async redeliver(id, deliveryId, caller) {
      await find(id);
      const row = await deliveries.repeat(id, deliveryId, { id: newDeliveryId(), armedBy: armedByOf(caller) });
      if (row === 'unknown') throw deliveryNotFound(id, deliveryId);
      if (row === 'full') throw queueFull(limits);
      worker.nudge();
      return toDelivery(row);
    },
    async delete(id) {
      if (!(await rows.delete(id))) throw triggerNotFound(id);
    },
    async receive(id, request, address) {
      const received = await inbound(id, request, address);
      if ('state' in received && received.state === 'pending') worker.nudge();
      await noteTaken(id, 1);
      return received;
    },
    sweep() {
      polling.sweep();
      worker.sweep();
    },
    async close() {
      await polling.close();
      await worker.close();
    },
  };
}

// --- internal ---

function armedByOf(caller: Caller): string | null {
  return caller.via ? toArmedBy([toStartedBy(caller)]) : null;
}

const SHOWN = 50;
const FORGET_EACH = 100;

function toPollChange(before: StoredTrigger['settings'], after: StoredTrigger['settings']): Changed['polls'] {
  if (!before.poll || !after.poll) return undefined;
  if (asksForOther(before.poll, after.poll) || before.deduplicate !== after.deduplicate) return 'other';
  return isDeepStrictEqual(before.poll, after.poll) ? undefined : 'same';
}

/** Whether there is such a workflow or agent is not known before they are loaded. */
function requireTarget(
  { workflows, agents }: Pick<TriggersOptions, 'workflows' | 'agents'>,
  target: TriggerTarget | undefined,
): void {
  if (!target) return;
  try {
    if ('workflow' in target) workflows.get(target.workflow);
    else agents.requireAgent(target.agent);
  } catch (error) {
    const isMissing = error instanceof BoxError && error.status === 404;
    if (isMissing) throw error;
  }
}

function newDeliveryId(): string {
  return `dlv_${randomBytes(16).toString('base64url')}`;
}

function createVault({ db, key, installation }: Pick<TriggersOptions, 'db' | 'key' | 'installation'>) {
  let opened: Promise<SecretStore> | undefined;
  /** Asked for before a transaction begins: it may have to look for what it seals for. */
  return (): Promise<SecretStore> =>
    (opened ??= installation().then(
      (id) => createSecretStore({ db, key, installation: id, owner: SECRET_OWNER }),
      (error: unknown) => {
        opened = undefined;
        throw error;
      },
    ));
}

function triggerNotFound(id: string): BoxError {
  return new BoxError(
    'trigger_not_found',
    `There is no trigger "${id}". GET /api/triggers lists them; POST /api/triggers makes one.`,
  );
}

function deliveryNotFound(id: string, deliveryId: string): BoxError {
  return new BoxError(
    'delivery_not_found',
    `The trigger has no delivery "${deliveryId}" whose request is kept. GET /api/triggers/${id} lists the newest; of one that was filtered nothing is kept.`,
  );
}

function tooMany(): BoxError {
  return new BoxError(
    'too_many_triggers',
    'This box has as many triggers as it may have. Delete one that nothing calls.',
  );
}
