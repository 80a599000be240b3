import { setTimeout as wait } from 'node:timers/promises';
import { createFaultyJournal } from './stores/faulty.ts';
import { wrapJournal } from './stores/wrap.ts';
import { BREAK, toCode } from './_programs.ts';
import type { Asked } from './_programs.ts';
import { openBench, runOf, until } from './_setup.ts';
import type { Bench, Place } from './_setup.ts';
import type { Journal } from './journal.ts';
import { isFinal } from './journal/run.ts';
import type { RunRow } from './journal/run.ts';

/** What one run of a program meets, at the n-th write to its journal. */
export type Trouble =
  | { kind: 'none' }
  /** The process dies at the n-th write: before it is made, or once it is made and not answered. */
  | { kind: 'death'; at: number; isMade: boolean }
  /** From the n-th write on the journal is away for a while: writes are not made, or their answers are lost. */
  | { kind: 'outage'; at: number; fault: 'fail' | 'cut' }
  /** The store's clock is set. */
  | { kind: 'jump'; at: number; ms: number }
  /** Another process takes the run over while this one stands still, and completes it before this one goes on. */
  | { kind: 'rival'; at: number }
  /** The run is paused for a while. */
  | { kind: 'pause'; at: number }
  /** The run fails after its operations, is mended and retried. */
  | { kind: 'retry' }
  | { kind: 'cancel'; at: number }
  /** Cancelled with time to clean up; the process dies so many writes later. */
  | { kind: 'cleaning'; at: number; dies: number };

/** A journal of its own. */
export interface Room extends Place {
  /** So many milliseconds from the real one. */
  setClock(offset: number): Promise<void>;
  remove(): Promise<void>;
}

export interface Life {
  /** The process that has the run. */
  bench: Bench;
  /** How many the run took. */
  writes: number;
  /** Steps that ran although their answer was recorded. */
  repeated: string[];
  /** From the start of the run until the last of those that it has come to is final, and no process has one. */
  live(asked: Asked): Promise<RunRow>;
}

export function createLife(room: Room, trouble: Trouble): Life {
  /** The keys of steps that must not run any more. */
  const settled = new Set<string>();
  let isMended = false;
  let leave: ((how: 'dead' | 'stalled') => void) | undefined;
  const life: Life & { runId: Promise<string | undefined> } = {
    bench: undefined as unknown as Bench,
    writes: 0,
    repeated: [],
    runId: Promise.resolve(undefined),
    async live(asked) {
      const row = await endOf(() => drive(asked));
      if (trouble.kind !== 'retry' || row.status !== 'failed') return row;
      isMended = true;
      const broken = (await life.bench.journal.getRecords(row.runId)).find(
        ({ event, stepId }) => event === 'failed' && nameOf(stepId) === BREAK,
      );
      await settle((runId, { seq }) => runId !== row.runId || seq < (broken?.seq ?? 0));
      const retried = runOf(await life.bench.engine.retry(row, 'failed-step'));
      return follow(retried.runId);
    },
  };

  /** Opens processes until one has brought the run to its end. */
  const endOf = async (work: () => Promise<RunRow>): Promise<RunRow> => {
    let goOn = async (): Promise<void> => {};
    for (;;) {
      const left = new Promise<'dead' | 'stalled'>((resolve) => (leave = resolve));
      const opened = await open();
      const row = await Promise.race([left, work()]);
      if (row === 'stalled') goOn = opened.goOn;
      else if (row === 'dead') {
        await opened.bench.kill();
        void opened.bench.close().catch(() => {});
        await settle();
      } else {
        await goOn();
        return row;
      }
    }
  };

  const meet = (n: number): void => {
    const { kind } = trouble;
    if (!('at' in trouble) || n !== trouble.at) return;
    if (kind === 'jump') room.setClock(trouble.ms).catch(() => {});
    if (kind === 'cancel') cancel().catch(() => {});
    if (kind === 'cleaning') cancel(true).catch(() => {});
    if (kind === 'pause') pause().catch(() => {});
  };
  const cancel = async (cleansUp = false): Promise<void> => {
    const runId = await life.runId;
    if (runId !== undefined) await life.bench.engine.cancel(runId, new Error('enough'), { cleansUp });
  };
  const pause = async (): Promise<void> => {
    const runId = await life.runId;
    // As callers do: the run may have continued meanwhile.
    const withLast = async (work: (id: string) => Promise<boolean>): Promise<boolean> => {
      const last = runId === undefined ? undefined : await life.bench.journal.getLastRun(runId);
      return last !== undefined && work(last.runId);
    };
    if (!(await withLast(life.bench.engine.pause))) return;
    const goOn = async (): Promise<void> => {
      while (!(await insist(() => withLast(life.bench.engine.unpause))) && !(await insist(isOver))) await wait(1);
    };
    const isOver = (): Promise<boolean> =>
      withLast(async (id) => isFinal((await life.bench.journal.getRun(id))?.status ?? 'failed'));
    setTimeout(() => void goOn().catch(() => {}), PAUSE_MS);
  };

  const open = async (): Promise<{ bench: Bench; goOn(): Promise<void> }> => {
    let isDead = false;
    let release: (() => void) | undefined;
    let stalled: Promise<void> | undefined;
    const faulty = createFaultyJournal(await room.open());
    const wrapped = wrapJournal(faulty.journal, async (name, call) => {
      await stalled;
      if (isDead) return new Promise(() => {});
      if (!WRITES.has(name)) return call();
      const n = ++life.writes;
      const isLater = trouble.kind === 'cleaning' && trouble.dies > 0 && n === trouble.at + trouble.dies;
      const isDeath = isLater || (trouble.kind === 'death' && n === trouble.at);
      const end = (): Promise<never> => {
        isDead = true;
        leave?.('dead');
        return new Promise(() => {});
      };
      if (isDeath && !(trouble.kind === 'death' && trouble.isMade)) return end();
      if (trouble.kind === 'rival' && n === trouble.at) {
        stalled = new Promise((resolve) => (release = resolve));
        leave?.('stalled');
        await stalled;
      }
      if (trouble.kind === 'outage' && n === trouble.at) {
        faulty.break(trouble.fault, 1, Infinity);
        setTimeout(() => faulty.heal(), OUTAGE_MS);
      }
      meet(n);
      const answer = await call();
      return isDeath ? end() : answer;
    });
    const onAttempt = (key: string): void => {
      if (!isDead && settled.has(key)) life.repeated.push(key);
    };
    const bench = await openBench(
      { open: async () => wrapped },
      toCode(onAttempt, () => isMended || trouble.kind !== 'retry'),
      { sweepMs: 10, leaseMs: 2_000, limits: { parkAfter: 5 }, cleanupOf: () => 60_000 },
    );
    life.bench = bench;
    /** What it was about to do comes to nothing: it finds that it has lost its runs. */
    const goOn = async (): Promise<void> => {
      await settle();
      release?.();
      await until(() => bench.engine.liveRuns === 0, PATIENCE_MS);
      isDead = true;
      await bench.kill();
      void bench.close().catch(() => {});
    };
    return { bench, goOn };
  };

  /** What is recorded must not be done again. */
  const settle = async (isKept: (runId: string, record: { seq: number }) => boolean = () => true): Promise<void> => {
    const journal = await room.open();
    for (const { runId } of await journal.listRuns({}, { limit: 99 }))
      for (const record of await journal.getRecords(runId)) {
        const { event, call, stepId } = record;
        const isAnswer = event === 'done' || event === 'failed';
        if (isAnswer && isKept(runId, record)) settled.add(`${runId}:${call}:${nameOf(stepId)}`);
      }
    await journal.close();
  };

  const drive = async (asked: Asked): Promise<RunRow> => {
    const { bench } = life;
    life.runId = insist(async () => {
      const result = await bench.create('go', asked, { idempotencyKey: 'the-one' });
      return 'run' in result ? result.run.runId : undefined;
    });
    return follow((await life.runId) ?? '');
  };

  /** Resumes its hooks until it is final, and answers what it has come to. */
  const follow = async (runId: string): Promise<RunRow> => {
    const { bench } = life;
    let found: RunRow | undefined;
    await until(async () => {
      found = await insist(() => bench.journal.getLastRun(runId));
      if (found && isFinal(found.status)) return true;
      const entries = await insist(() => bench.journal.hooks.listEntries({ kind: 'hook' }, { limit: 20 }));
      for (const { hook } of entries)
        if (hook.isOpen) await insist(() => bench.engine.resumeHook(hook.token, `${hook.token}/${++resumes}`));
      return false;
    }, PATIENCE_MS).catch((error: Error) => {
      throw new Error(`The run is ${JSON.stringify(found)}.`, { cause: error });
    });
    return found as RunRow;
  };
  return life;
}

// --- internal ---

/** Every payload is another, and later ones are larger. */
let resumes = 0;

const OUTAGE_MS = 60;
const PAUSE_MS = 20;
const PATIENCE_MS = 60_000;

/** Calls of the journal after each of which a process may be gone. */
const WRITES = new Set<string>(['append', 'create', 'cancel'] satisfies (keyof Journal)[]);

function nameOf(stepId: string): string {
  return stepId.replace(/^.*#/, '');
}

/** What a client does about a store that is away: the same again, in a moment. */
async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + PATIENCE_MS; ;) {
    try {
      return await call();
    } catch (error) {
      if (performance.now() > end) throw error;
      await new Promise((done) => setTimeout(done, 5));
    }
  }
}
