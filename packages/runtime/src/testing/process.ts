import type { AroundStep } from '../engine/body.ts';
import { isFinal } from '../engine/journal/run.ts';
import type { Journal } from '../engine/journal.ts';
import type { Append } from '../engine/journal/appends.ts';
import type { JournalRecord } from '../engine/journal/record.ts';
import type { RunStatus } from '../engine/journal/run.ts';
import type { StoreClient } from '../stores/client.ts';

/** Where a box is to crash. */
export interface CrashPoint {
  /** The name of a step or a tool, or its id; `model` for a call of the model, `session` where a turn is saved. */
  step: string;
  /** `before` it begins, `after` it has run and before that is recorded, or once it is `recorded`. */
  when: 'before' | 'after' | 'recorded';
}

/** The process a box seems to run in. It can be ended in the middle of anything; what it still does then goes nowhere. */
export interface TestProcess {
  readonly isDead: boolean;
  /** Counts its writes to the journal and its calls of the database: as long as it grows, the box gets on. */
  readonly activity: number;
  /** Rejects when the process dies. */
  readonly died: Promise<never>;
  /** Resolves when it has; rejects once no run is left that could come there, or the process has ended otherwise. */
  crashAt(point: CrashPoint): Promise<void>;
  around: AroundStep;
  /** The same store, out of reach once the process is dead. */
  holdDatabase(database: StoreClient): StoreClient;
  holdJournal(journal: Journal): Journal;
  die(where?: CrashPoint): void;
  /** What a dead process still waits for is answered, so that it comes to its end. */
  bury(): void;
}

export function createProcess(): TestProcess {
  const points: AwaitedPoint[] = [];
  let isDead = false;
  let activity = 0;
  let endWaits: () => void = () => {};
  const buried = new Promise<void>((resolve) => (endWaits = resolve));
  let kill: (error: Error) => void = () => {};
  const died = new Promise<never>((_, reject) => (kill = reject));
  died.catch(() => {});

  const die = (where?: CrashPoint): void => {
    if (isDead) return;
    isDead = true;
    kill(crashed(where));
  };
  const reach = (point: (typeof points)[number]): void => {
    die(point);
    point.reached();
  };
  const find = (when: CrashPoint['when'], step: NamedStep) =>
    isDead ? undefined : points.find((point) => point.when === when && isStep(point.step, step));

  /** A run has ended, or is blocked. Where none is left, nothing comes to the points any more. */
  const noteEnd = async (journal: Journal, runIds: readonly string[]): Promise<void> => {
    const open = points.filter(({ isOver }) => !isOver);
    for (const { ended } of open) ended.push(...runIds);
    if (open.length === 0 || (await mayGoOn(journal))) return;
    for (const point of open) {
      const ends = await Promise.all(point.ended.slice(-SHOWN_RUNS).map((runId) => describeEnd(journal, runId)));
      if (!isDead) point.miss(ends.join(' '));
    }
  };

  const hold = <T extends object>(target: T, onCall: () => void = () => {}): T =>
    new Proxy(target, {
      get(object, key) {
        const value: unknown = Reflect.get(object, key);
        if (typeof value === 'object' && value !== null && !(value instanceof Promise)) return hold(value, onCall);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          if (isDead) return buried.then(() => AFTERLIFE[String(key)]);
          onCall();
          return Reflect.apply(value, object, args) as unknown;
        };
      },
    });

  return {
    get isDead() {
      return isDead;
    },
    get activity() {
      return activity;
    },
    died,
    crashAt(point) {
      const come = new Promise<void>((resolve, reject) => {
        const awaited: AwaitedPoint = {
          ...point,
          ended: [],
          isOver: false,
          reached() {
            awaited.isOver = true;
            resolve();
          },
          miss(why) {
            awaited.isOver = true;
            reject(notReached(point, why));
          },
        };
        points.push(awaited);
      });
      // Not everyone waits for it.
      come.catch(() => {});
      return come;
    },
    around(attempt, run) {
      const step = { name: attempt.stepName, id: attempt.stepId };
      const before = find('before', step);
      if (before) reach(before);
      if (isDead) return NEVER;
      const after = find('after', step);
      if (!after) return run();
      const end = () => (reach(after), NEVER);
      return runWhole(run).then(end, end);
    },
    holdDatabase: (database) => hold(database, () => void activity++),
    holdJournal(journal) {
      const held = hold(journal);
      const append = async (entry: Append) => {
        activity++;
        const result = await journal.append(entry);
        const point = entry.records.flatMap(({ event, kind, stepId }) => {
          if (event !== 'done') return [];
          return find('recorded', { name: kind === 'model' ? kind : nameOf(stepId), id: stepId }) ?? [];
        })[0];
        if (point) reach(point);
        if (isDead) return buried.then(() => FENCED);
        const { status } = entry.patch;
        if (status !== undefined && hasStopped(status)) noteEnd(journal, [entry.runId]).catch(() => {});
        return result;
      };
      const cancel: Journal['cancel'] = async (...args) => {
        const result = await journal.cancel(...args);
        if (result?.outcome === 'cancelled') noteEnd(journal, result.cancelled).catch(() => {});
        return result;
      };
      const own: Record<string | symbol, unknown> = { append, cancel };
      return new Proxy(held, {
        get: (object, key) => (isDead ? undefined : own[key]) ?? (Reflect.get(object, key) as unknown),
      });
    },
    die,
    bury() {
      endWaits();
      for (const point of points) if (!point.isOver) point.miss('the box has ended before.');
    },
  };
}

// --- internal ---

interface AwaitedPoint extends CrashPoint {
  /** Runs that have ended since it is waited for. */
  ended: string[];
  /** It has come, or it has failed. */
  isOver: boolean;
  reached(): void;
  miss(why: string): void;
}

interface NamedStep {
  name: string;
  id: string;
}

const NEVER = new Promise<never>(() => {});
const FENCED = { outcome: 'fenced' } as const;

/** What a journal says to a process that has lost its runs. */
const AFTERLIFE: Record<string, unknown> = { append: FENCED, claim: [], listHeld: [], due: [] };

async function runWhole(run: () => unknown): Promise<unknown> {
  return run();
}

function isStep(step: string, { name, id }: NamedStep): boolean {
  return step === name || step === id;
}

/** Of `<file>#<name>` and `tool:<name>`. */
function nameOf(stepId: string): string {
  return /^tool:(.+)$/.exec(stepId)?.[1] ?? stepId.slice(stepId.lastIndexOf('#') + 1);
}

function hasStopped(status: RunStatus): boolean {
  return isFinal(status) || status === 'blocked';
}

const MOVING: readonly RunStatus[] = ['queued', 'running', 'waiting'];
const SHOWN_RUNS = 5;

async function mayGoOn(journal: Journal): Promise<boolean> {
  const one = { limit: 1 };
  const found = await Promise.all([
    ...MOVING.map((status) => journal.listRuns({ status }, one)),
    journal.queue.list({}, one),
  ]);
  return found.some((list) => list.length > 0);
}

async function describeEnd(journal: Journal, runId: string): Promise<string> {
  const [run, records] = await Promise.all([journal.getRun(runId), journal.getRecords(runId)]);
  const names = new Set(records.flatMap(nameOfRecord));
  const steps = names.size === 0 ? 'It had no steps.' : `Its steps: ${[...names].join(', ')}.`;
  return `the run of "${run?.name}" is ${run?.status}. ${steps}`;
}

function nameOfRecord({ kind, stepId, event }: JournalRecord): string[] {
  if (kind !== 'step' && kind !== 'tool' && kind !== 'model') return [];
  const name = `"${kind === 'model' ? kind : nameOf(stepId)}"`;
  return event === 'done' ? [name] : event === 'failed' ? [`${name} (failed)`] : [];
}

function notReached({ step }: CrashPoint, why: string): Error {
  const message = `Nothing has come to "${step}": ${why}`;
  return Object.assign(new Error(message), { code: 'crash_not_reached' });
}

function crashed(where?: CrashPoint): Error {
  const place = where ? ` ${where.when === 'recorded' ? 'once it had recorded' : where.when} "${where.step}"` : '';
  return Object.assign(new Error(`The box crashed${place}, as the test asked. Go on with box.restart().`), {
    code: 'box_crashed',
  });
}
