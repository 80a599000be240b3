import { BoxError } from '../../errors.ts';
import type { Journal } from '../journal.ts';
import { wrapJournal } from './wrap.ts';

/**
 * What a call suffers. `fail`: it throws and nothing is done. `hang`: it is not done and not answered until the fault
 * is gone, and then done late. `cut`: it is done, and its answer is lost.
 */
export const FAULTS = ['fail', 'hang', 'cut'] as const;
export type Fault = (typeof FAULTS)[number];

export interface FaultyJournal {
  journal: Journal;
  /** The n-th call from now on, from 1, suffers; with `count`, so do those after it. Counting starts over. */
  break(fault: Fault, n: number, count?: number): void;
  /** All is well again; what hangs is done now. */
  heal(): void;
  /** Names of the calls since the last `break`, in order. */
  calls(): string[];
  /** Those of them that suffered. */
  suffered(): string[];
}

/** A journal that breaks on command: for tests. */
export function createFaultyJournal(inner: Journal): FaultyJournal {
  let calls: string[] = [];
  let suffered: string[] = [];
  let plan: { fault: Fault; from: number; to: number } | undefined;
  let hanging: (() => void)[] = [];

  const journal = wrapJournal(inner, async (name, call) => {
    const n = calls.push(name);
    if (!plan || n < plan.from || n > plan.to) return call();
    suffered.push(name);
    const { fault } = plan;
    if (fault === 'fail') throw broken(name, 'did not get through');
    if (fault === 'hang') await new Promise<void>((resolve) => hanging.push(resolve));
    const answer = await call();
    if (fault === 'cut') throw broken(name, 'lost its answer');
    return answer;
  });

  return {
    journal,
    break(fault, n, count = 1) {
      calls = [];
      suffered = [];
      plan = { fault, from: n, to: n + count - 1 };
    },
    heal() {
      plan = undefined;
      const waiting = hanging;
      hanging = [];
      for (const go of waiting) go();
    },
    calls: () => calls,
    suffered: () => suffered,
  };
}

// --- internal ---

function broken(name: string, what: string): BoxError {
  return new BoxError('store_unavailable', `The call "${name}" of the journal ${what}. This is a test.`);
}
