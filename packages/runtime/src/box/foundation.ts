import { createEngine } from '../engine/engine.ts';
import type { Engine, EngineOptions } from '../engine/engine.ts';
import { newRunId } from '../engine/ids.ts';
import type { RunRow } from '../engine/journal/run.ts';
import type { Look } from '../engine/journal/leases.ts';
import { joinObservers } from '../engine/observer.ts';
import { createEvents } from '../events/events.ts';
import { contractPayload } from '../health/contract.ts';
import { createStreamLimits } from '../auth/stream-limits.ts';
import { splitName } from '../definitions/subagents.ts';
import { createLimiter } from '../limits/limiter.ts';
import type { BudgetNotice, Limiter } from '../limits/limiter.ts';
import { readWho } from '../limits/limits.ts';
import type { Limited } from '../limits/limits.ts';
import { createCharge } from '../limits/charge.ts';
import type { Charge } from '../limits/charge.ts';
import { createLimitObserver, createRunSpending } from '../limits/observer.ts';
import type { LimitObserverOptions, SpendOfRun } from '../limits/observer.ts';
import { withFields } from '../log.ts';
import type { Log } from '../log.ts';
import { createMask } from '../mask.ts';
import type { Mask } from '../mask.ts';
import { createDebugRunLog } from '../logs/lifecycle.ts';
import { createLogs } from '../logs/logs.ts';
import { createLogStore } from '../logs/store.ts';
import { createStopLog, createStopObserver } from '../runs/stopped.ts';
import { currentFields, currentRunFields } from '../telemetry/log-context.ts';
import { readTelemetry } from '../telemetry/settings.ts';
import type { TelemetrySettings } from '../telemetry/settings.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import { createLargeStore, withoutOwn } from '../storage/large-store.ts';
import { createKvDoorbell } from '../engine/kv-doorbell.ts';
import { createAmbient } from './ambient.ts';
import type { StreamLimits } from '../auth/stream-limits.ts';
import type { Events } from '../events/events.ts';
import type { Logs } from '../logs/logs.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Rooms } from '../surface/rooms.ts';
import type { AmbientRooms } from './ambient.ts';
import type { Closer } from './closer.ts';
import { createLate } from './late.ts';
import type { Late } from './late.ts';
import type { BoxOptions } from './options.ts';

/** Event streams that stay open, of all callers. */
const STREAMS = 2_000;
/** Of them, how many are for those who operate the box, however many pages of its users are open. */
const STREAMS_FOR_PEOPLE = 500;

/** With what comes after it, well below the 20 s after which a platform kills. */
const DRAIN_MS = 8_000;

/** What every room stands on: the engine over its journal, and what is emitted, logged, traced and masked. */
export interface Foundation {
  options: BoxOptions;
  /** With what is known of the request under way. */
  log: Log;
  mask: Mask;
  /** This process among its replicas. */
  owner: string;
  limits: StreamLimits;
  events: Events;
  limiter: Limiter;
  /** Counts what a run has used and no record says. */
  spendOfRun: SpendOfRun;
  charge: Charge;
  telemetry: Telemetry;
  telemetrySettings: TelemetrySettings;
  logs: Logs;
  engine: Engine;
  /** Set by `createRooms`, before the gate opens. */
  above: Late<Above>;
  /** With its log records. Answers whether there was one that could be deleted. */
  deleteRun(runId: string): Promise<boolean>;
  /** The same for several. Answers those that are gone. */
  deleteRuns(runIds: string[]): Promise<string[]>;
  closer: Closer;
}

/** What the engine calls of the rooms that stand on it. */
export interface Above extends AmbientRooms {
  rooms: Rooms;
  body: EngineOptions['resolve'];
  newestBody: EngineOptions['resolve'];
  sweep(look: Look): Promise<void>;
  /** A key or an agent that usage is counted for, with its limits. */
  findLimited(who: string): Promise<Limited | undefined>;
  cleanupOf: NonNullable<EngineOptions['cleanupOf']>;
  /** A run has ended. Returns at once, and never throws. */
  ended(run: RunRow): void;
  /** The hashes of the code of all agents and workflows. */
  codes(): string[];
}

export async function createFoundation(options: BoxOptions, closer: Closer): Promise<Foundation> {
  const { journal, kv, exclusive, mask = createMask(), telemetry: telemetrySettings = readTelemetry({}) } = options;
  maskStoredSecrets(options, mask);
  const owner = newRunId();
  // A journal that no other process can hold has no replica to notify.
  const shared = exclusive ? undefined : kv;
  const limits = createStreamLimits({ perBox: STREAMS, forPeople: STREAMS_FOR_PEOPLE });
  const events = createEvents({ limits, owner, kv: shared });
  const engine = createLate<Engine>('the engine');
  const above = createLate<Above>('the rooms');
  const logs = createLogs({
    store: createLogStore(options.db),
    log: options.log,
    records: options.records,
    mask,
    limits,
    owner,
    kv: shared,
    engine: engine.get,
    queue: options.logQueue,
  });
  closer.add(() => logs.close());
  const telemetry = await createTelemetry({
    settings: telemetrySettings,
    service: { name: options.slug, version: contractPayload().build.version, instanceId: owner },
    journal,
    liveRuns: () => engine.get().liveRuns,
    busySteps: (most) =>
      engine
        .get()
        .listBusy(most)
        .map(({ workflow, step }) => `${workflow}: ${step}`),
    // Under `svc dev` code is compiled in the same process, again and again.
    logsStalls: options.host === 'image',
    log: options.log,
    mask,
  });
  closer.add(() => telemetry.close());
  const limiter = createLimiter({
    db: options.db,
    kv,
    log: options.log,
    find: (who) => above.get().findLimited(who),
    onBudget: createBudgetNotices(events, options.log),
  });
  closer.add(() => limiter.close());
  const counting = createCounting(options, limiter);
  const stopLog = createStopLog(options.log);
  closer.add(async () => stopLog.close());
  const doorbell = shared && createKvDoorbell(shared, owner);
  if (doorbell) closer.add(() => doorbell.close());
  const { storage } = options;
  const large = storage && createLargeStore({ storage, journal, log: options.log });
  closer.add(async () => large?.close());
  engine.set(
    await createEngine({
      // A run that no other process can take goes on at the next boot: there is nothing to hurry for, nor to wait for.
      drainMs: exclusive ? 0 : DRAIN_MS,
      ...(doorbell ? { doorbell } : {}),
      ...options.engine,
      ...(options.isolate ? { isolate: options.isolate } : {}),
      ...(options.supervisor ? { supervisor: options.supervisor } : {}),
      lifecycle: events,
      observer: joinObservers([
        telemetry.observer,
        ...(logs.observer ? [logs.observer] : []),
        ...(options.log.writes?.('debug') === true ? [createDebugRunLog(options.log, mask)] : []),
        createStopObserver(options.onStopped ?? stopLog.notify, mask),
        { created() {}, started() {}, appended() {}, ended: (run) => above.get().ended(run) },
        createLimitObserver(counting),
      ]),
      journal,
      log: withFields(options.log, currentRunFields),
      owner,
      exclusive,
      ...toResolvers(above.get),
      largeStore: large,
      ambient: createAmbient({
        journal,
        services: options.services,
        storage: storage && withoutOwn(storage),
        mask,
        above: above.get,
      }),
      async onSweep(look) {
        large?.sweep();
        await above.get().sweep(look);
      },
      codes: () => above.get().codes(),
      cleanupOf: (run) => above.get().cleanupOf(run),
    }),
  );
  closer.addFirst(() => drain({ engine: engine.get(), events, logs }));
  const deleteRuns = async (runIds: string[]): Promise<string[]> => {
    const gone = await journal.deleteRuns(runIds);
    // A crash in between leaves records that go when they are old, and objects that a sweep finds.
    await logs.deleteRuns(gone);
    await large?.drop(gone);
    return gone;
  };
  return {
    options,
    log: withFields(options.log, currentFields),
    mask,
    owner,
    limits,
    events,
    limiter,
    spendOfRun: counting.spend,
    charge: counting.charge,
    telemetry,
    telemetrySettings,
    logs,
    engine: engine.get(),
    above,
    deleteRun: async (runId) => (await deleteRuns([runId])).length > 0,
    deleteRuns,
    closer,
  };
}

// --- internal ---

function toResolvers(above: () => Above): Required<Pick<EngineOptions, 'resolve' | 'resolveNewest'>> {
  return { resolve: (run) => above().body(run), resolveNewest: (run) => above().newestBody(run) };
}

function createCounting({ host, prices = () => ({}) }: BoxOptions, limiter: Limiter): LimitObserverOptions {
  const how = {
    limiter,
    agentOf: (name: string) => splitName(name).agent,
    // A price is there to see what is used.
    countsAll: () => host === 'image' || Object.keys(prices()).length > 0,
  };
  return { ...how, spend: createRunSpending(how), charge: createCharge({ ...how, prices }) };
}

function createBudgetNotices(events: Pick<Events, 'publish'>, log: Log): (notice: BudgetNotice) => void {
  return ({ limited, period, used, limit, isExceeded }) => {
    const { kind, id } = readWho(limited.id);
    // A model has no limits.
    if (kind === 'model') return;
    const facts = { kind, id, period, limit, used };
    events.publish({ type: isExceeded ? 'budget.exceeded' : 'budget.warning', ...facts });
    const share = isExceeded ? 'all' : '80 %';
    log.warn(`${limited.name} has used ${share} of its ${limit} tokens of this ${period}.`, facts);
  };
}

/** First of all no more starts: a client of a stream that is closed here must not begin one. */
async function drain({ engine, events, logs }: Pick<Foundation, 'engine' | 'events' | 'logs'>): Promise<void> {
  const drained = engine.close();
  await events.close();
  await logs.closeStreams();
  await drained;
}

/** Not waited for: nothing that is stored has been used yet. */
function maskStoredSecrets({ secretValues }: BoxOptions, mask: Mask): void {
  void secretValues?.().then(
    (values) => values.forEach((value) => mask.add(value)),
    () => {},
  );
}
