import { real } from './real.ts';

export interface Deadline {
  signal: AbortSignal;
  /** Runs `work`; rejects with `step_timeout` when it takes longer than its time. */
  race<T>(work: () => Promise<T>): Promise<T>;
}

/** A signal that aborts with the run, or when one attempt has had its time. */
export function createDeadline(parent: AbortSignal, timeout: number | undefined): Deadline {
  if (timeout === undefined) return { signal: parent, race: (work) => work() };
  const own = new AbortController();
  const follow = () => own.abort(parent.reason);
  parent.addEventListener('abort', follow, { once: true });
  return {
    signal: own.signal,
    race(work) {
      return new Promise((resolve, reject) => {
        const timer = real.setTimeout(() => {
          const error = Object.assign(new Error(`The attempt took longer than ${timeout} ms.`), {
            code: 'step_timeout',
          });
          own.abort(error);
          reject(error);
        }, timeout);
        work()
          .then(resolve, reject)
          .finally(() => {
            real.clearTimeout(timer);
            parent.removeEventListener('abort', follow);
          });
      });
    },
  };
}
