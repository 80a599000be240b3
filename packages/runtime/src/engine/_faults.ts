import { createLog } from '../log.ts';
import { outputOf, runOf, step, until } from './_setup.ts';
import type { Code } from './_setup.ts';
import { createStoreClock } from './clock.ts';
import { createEngine } from './engine.ts';
import type { Engine, StartRequest } from './engine.ts';
import type { Body } from './body.ts';
import { installGuard } from './guard/guard.ts';
import type { Ambient } from './handle.ts';
import { newRunId } from './ids.ts';
import type { Journal } from './journal.ts';
import type { RunRow } from './journal/run.ts';
import { isFinal } from './journal/run.ts';
import { getStepMetadata } from './primitives/metadata.ts';
import { isStoreDown } from './persist.ts';
import { createFaultyJournal } from './stores/faulty.ts';
import type { FaultyJournal } from './stores/faulty.ts';

/** An engine on a journal that breaks, and a client that repeats what was answered with "store_unavailable". */
export interface World {
  engine: Engine;
  /** Whose the runs are that it holds. */
  owner: string;
  /** The journal itself, which does not break. */
  journal: Journal;
  faulty: FaultyJournal;
  /** What the steps sent to the world outside, by idempotency key. */
  received: Map<string, unknown>;
  /** Runs that came to be. */
  runIds: Set<string>;
  /** A step with an effect outside. It throws at the attempts before `succeedsAt`. */
  effect<T>(name: string, succeedsAt?: number): (value: T) => Promise<T>;
  /** Starts with an idempotency key; answers the run once there is one. */
  start(name: string, input?: unknown, more?: Partial<StartRequest>): Promise<string>;
  /** What a client does about a store that is down: the same again, in a moment. */
  insist<T>(call: () => Promise<T>): Promise<T>;
  /** The run once it is final. */
  final(runId: string): Promise<RunRow>;
  output(runId: string): Promise<unknown>;
  until(runId: string, isSo: (run: RunRow) => boolean): Promise<RunRow>;
  close(): Promise<void>;
}

export interface WorldOptions {
  leaseMs?: number;
  callMs?: number;
}

const PATIENCE_MS = 20_000;

export async function openWorld(
  journal: Journal,
  toCode: (world: World) => Code,
  options: WorldOptions = {},
): Promise<World> {
  installGuard();
  const faulty = createFaultyJournal(journal);
  const received = new Map<string, unknown>();
  const runIds = new Set<string>();
  const owner = newRunId();
  const code = (): Code => toCode(world);
  const bodies = new Map<string, Body>();
  const resolve = async ({ name }: { name: string }): Promise<Body> => bodies.get(name) as Body;
  const engine: Engine = await createEngine({
    journal: faulty.journal,
    log: createLog({ level: 'silent', write: () => {} }),
    owner,
    exclusive: journal.adapter === 'sqlite',
    // Read once, and not within the time that a call of the journal may take here.
    clock: await createStoreClock(journal),
    resolve,
    // What the scenarios need of it.
    ambient: {
      async startWorkflow(name, input, more) {
        const { runId, traceId } = runOf(
          await engine.start({ kind: 'workflow', name, trigger: 'workflow', input, ...more }),
        );
        runIds.add(runId);
        return { status: 'started', workflowName: name, runId, worldRunId: traceId, trigger: '' };
      },
      schedule: async () => ({ id: '', nextFireAt: null }),
      unschedule: async () => false,
    } as Partial<Ambient> as Ambient,
    limits: { parkAfter: 30 },
    leaseMs: 1_000,
    callMs: 60,
    sweepMs: 40,
    ...options,
  });
  const find = async (triggerId: string): Promise<string> => {
    let runId: string | undefined;
    await until(async () => {
      const found = await journal.queue.find(triggerId);
      if (found && 'run' in found) runId = found.run.runId;
      return runId !== undefined;
    }, PATIENCE_MS);
    return runId as string;
  };
  const world: World = {
    engine,
    owner,
    journal,
    faulty,
    received,
    runIds,
    effect: (name, succeedsAt = 1) =>
      step(
        name,
        async (value: never) => {
          const { attempt, idempotencyKey } = getStepMetadata();
          if (attempt < succeedsAt) throw new Error('Not yet.');
          received.set(idempotencyKey, value);
          return value;
        },
        { backoff: { initial: 10 } },
      ) as never,
    async insist(call) {
      for (const end = performance.now() + PATIENCE_MS; ;) {
        try {
          return await call();
        } catch (error) {
          if (!isStoreDown(error) || performance.now() > end) throw error;
          await new Promise((done) => setTimeout(done, 10));
        }
      }
    },
    async start(name, input = null, more = {}) {
      const request: StartRequest = { kind: 'workflow', name, trigger: 'api', input, ...more };
      const idempotencyKey = newRunId();
      const result = await world.insist(() => engine.start({ ...request, idempotencyKey }));
      const runId = 'triggerId' in result ? await find(result.triggerId) : runOf(result).runId;
      runIds.add(runId);
      return runId;
    },
    async until(runId, isSo) {
      let run: RunRow | undefined;
      await until(async () => {
        run = await journal.getRun(runId);
        return run !== undefined && isSo(run);
      }, PATIENCE_MS);
      return run as RunRow;
    },
    final: (runId) => world.until(runId, ({ status }) => isFinal(status)),
    output: async (runId) => outputOf(await world.final(runId)),
    async close() {
      faulty.heal();
      await engine.close();
    },
  };
  for (const [name, run] of Object.entries(code()))
    bodies.set(name, { run: run as Body['run'], codeHash: 'hash', durability: 'process' });
  await engine.arm();
  return world;
}

/** What is wrong with the journal's records of a run, in sentences. */
export async function findFlaws(journal: Journal, runId: string): Promise<string[]> {
  const run = await journal.getRun(runId);
  if (!run) return [`The run ${runId} is gone.`];
  const records = await journal.getRecords(runId);
  const answers = records.filter(({ event }) => event === 'done' || event === 'failed').map(({ call }) => call);
  const flaws: [boolean, string][] = [
    [!isFinal(run.status), `is ${run.status}`],
    [run.owner !== null, 'is held although it is final'],
    [records.some((record, index) => record.seq !== index), 'has a hole in its records'],
    [run.seq !== records.length, `has ${records.length} records and stands at ${run.seq}`],
    [new Set(records.map(({ recordId }) => recordId)).size !== records.length, 'has a record twice'],
    [new Set(answers).size !== answers.length, 'has two answers to one call'],
  ];
  return flaws.flatMap(([isFlaw, what]) => (isFlaw ? [`The run ${runId} ${what}.`] : []));
}
