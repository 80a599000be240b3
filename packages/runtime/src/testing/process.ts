import type { AroundStep } from '../engine/body.ts';
import type { Append, Journal } from '../engine/journal.ts';

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
  /** Rejects when the process dies. */
  readonly died: Promise<never>;
  crashAt(point: CrashPoint): Promise<void>;
  around: AroundStep;
  /** The same thing, out of reach once the process is dead. */
  hold<T extends object>(target: T): T;
  holdJournal(journal: Journal): Journal;
  die(where?: CrashPoint): void;
  /** What a dead process still waits for is answered, so that it comes to its end. */
  bury(): void;
}

export function createProcess(): TestProcess {
  const points: (CrashPoint & { reached(): void })[] = [];
  let isDead = false;
  let bury: () => void = () => {};
  const buried = new Promise<void>((resolve) => (bury = resolve));
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

  const hold = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(object, key) {
        const value: unknown = Reflect.get(object, key);
        if (typeof value === 'object' && value !== null && !(value instanceof Promise)) return hold(value);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown =>
          isDead ? buried.then(() => AFTERLIFE[String(key)]) : (Reflect.apply(value, object, args) as unknown);
      },
    });

  return {
    get isDead() {
      return isDead;
    },
    died,
    crashAt: (point) => new Promise((reached) => points.push({ ...point, reached })),
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
    hold,
    holdJournal(journal) {
      const held = hold(journal);
      const append = async (entry: Append) => {
        const result = await journal.append(entry);
        const point = entry.records.flatMap(({ event, kind, stepId }) => {
          if (event !== 'done') return [];
          return find('recorded', { name: kind === 'model' ? kind : nameOf(stepId), id: stepId }) ?? [];
        })[0];
        if (point) reach(point);
        return isDead ? buried.then(() => FENCED) : result;
      };
      return new Proxy(held, {
        get: (object, key) => (key === 'append' && !isDead ? append : (Reflect.get(object, key) as unknown)),
      });
    },
    die,
    bury: () => bury(),
  };
}

// --- internal ---

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

function crashed(where?: CrashPoint): Error {
  const place = where ? ` ${where.when === 'recorded' ? 'once it had recorded' : where.when} "${where.step}"` : '';
  return Object.assign(new Error(`The box crashed${place}, as the test asked. Go on with box.restart().`), {
    code: 'box_crashed',
  });
}
