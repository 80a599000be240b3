import { LONGEST_TIMER_MS } from '../duration.ts';
import { real } from '../real.ts';

export interface Deadline {
  readonly signal: AbortSignal;
  /**
   * Settles as `work` does; rejects with `step_timeout` when that takes longer than its time. Once the run itself has
   * aborted it is not waited for, and only `work` settles it.
   */
  race(work: unknown): Promise<unknown>;
  /** The attempt is over before there was anything to wait for. */
  clear(): void;
}

/** A signal that aborts with the run, or when one attempt has had its time, in milliseconds from now. */
export function createDeadline(parent: AbortSignal, timeout: number): Deadline {
  const own = new AbortController();
  let expire: (error: Error) => void = () => {};
  const timer = real.setTimeout(
    () => {
      const error = Object.assign(new Error(`The attempt took longer than ${timeout} ms.`), { code: 'step_timeout' });
      own.abort(error);
      expire(error);
    },
    Math.min(timeout, LONGEST_TIMER_MS),
  );
  const follow = (): void => {
    real.clearTimeout(timer);
    own.abort(parent.reason);
  };
  if (parent.aborted) follow();
  parent.addEventListener('abort', follow, { once: true });
  const clear = (): void => {
    real.clearTimeout(timer);
    parent.removeEventListener('abort', follow);
  };
  return {
    signal: own.signal,
    race: (work) =>
      new Promise((resolve, reject) => {
        expire = reject;
        Promise.resolve(work).then(resolve, reject).finally(clear);
      }),
    clear,
  };
}
