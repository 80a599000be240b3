import { LONGEST_TIMER_MS } from '../duration.ts';
import { real } from '../real.ts';
import { startPulse } from './pulse.ts';

/** Milliseconds; undefined: no limit. */
export interface DeadlineTimes {
  /** What the attempt may take. */
  timeout?: number | undefined;
  /** What may pass between two beats of it. */
  heartbeat?: number | undefined;
}

export interface Deadline {
  readonly signal: AbortSignal;
  /**
   * Settles as `work` does; rejects with `step_timeout` when that takes longer than its time, and with
   * `step_heartbeat_timeout` when no beat has come for too long. Once the run itself has aborted it is not waited for,
   * and only `work` settles it.
   */
  race(work: unknown): Promise<unknown>;
  /** The attempt is getting on. */
  beat(): void;
  /** The attempt is over before there was anything to wait for. */
  clear(): void;
}

/** A signal that aborts with the run, or when one attempt has had its time. */
export function createDeadline(parent: AbortSignal, { timeout, heartbeat }: DeadlineTimes): Deadline {
  const own = new AbortController();
  let expire: (error: Error) => void = () => {};
  const end = (code: string, message: string): void => {
    stop();
    const error = Object.assign(new Error(message), { code });
    own.abort(error);
    expire(error);
  };
  const late = () => end('step_timeout', `The attempt took longer than ${timeout} ms.`);
  const lost = () => end('step_heartbeat_timeout', `The attempt has not called heartbeat() for ${heartbeat} ms.`);
  const timer = timeout === undefined ? undefined : real.setTimeout(late, Math.min(timeout, LONGEST_TIMER_MS));
  const pulse = heartbeat === undefined ? undefined : startPulse(heartbeat, lost);
  const stop = (): void => {
    real.clearTimeout(timer);
    pulse?.stop();
  };
  const follow = (): void => {
    stop();
    own.abort(parent.reason);
  };
  if (parent.aborted) follow();
  parent.addEventListener('abort', follow, { once: true });
  const clear = (): void => {
    stop();
    parent.removeEventListener('abort', follow);
  };
  return {
    signal: own.signal,
    race: (work) =>
      new Promise((resolve, reject) => {
        expire = reject;
        Promise.resolve(work).then(resolve, reject).finally(clear);
      }),
    beat: () => pulse?.beat(),
    clear,
  };
}
