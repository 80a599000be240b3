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
  /** Its time is over. */
  readonly isOver: boolean;
  /**
   * Settles as `work` does; rejects with `step_timeout` when that takes longer than its time, and with
   * `step_heartbeat_timeout` when no beat has come for too long. Once the run itself has aborted it is not waited for,
   * and only `work` settles it.
   */
  race(work: unknown): Promise<unknown>;
  /** The attempt is getting on. */
  beat(): void;
  /** The attempt has failed in another way: its signal aborts, and its time is not watched any more. */
  abort(reason: unknown): void;
  /** The attempt is over before there was anything to wait for. */
  clear(): void;
}

/**
 * A signal that aborts with the run, or when one attempt has had its time.
 * @param within calls what listens for the signal as code of the attempt; default: as code of what aborts it
 */
export function createDeadline(
  parent: AbortSignal,
  { timeout, heartbeat }: DeadlineTimes,
  within = (work: () => void): void => work(),
): Deadline {
  const own = new AbortController();
  const abort = (reason: unknown): void => within(() => own.abort(reason));
  let isOver = false;
  let expire: (error: Error) => void = () => {};
  const end = (code: string, message: string): void => {
    stop();
    isOver = true;
    const error = Object.assign(new Error(message), { code });
    abort(error);
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
    abort(parent.reason);
  };
  if (parent.aborted) follow();
  parent.addEventListener('abort', follow, { once: true });
  const clear = (): void => {
    stop();
    parent.removeEventListener('abort', follow);
  };
  return {
    signal: own.signal,
    get isOver() {
      return isOver;
    },
    race: (work) =>
      new Promise((resolve, reject) => {
        expire = reject;
        Promise.resolve(work).then(resolve, reject).finally(clear);
      }),
    beat: () => pulse?.beat(),
    abort(reason) {
      clear();
      abort(reason);
    },
    clear,
  };
}
