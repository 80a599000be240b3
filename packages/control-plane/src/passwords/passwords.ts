import { PlaneError, rateLimited } from '../errors.ts';
import type { Log } from '../../../runtime/src/log.ts';
import { hashPassword, isOutdated, verifyPassword } from './hash.ts';
import type { PasswordCost } from './hash.ts';

/** Passwords, of which few are worked on at a time: each takes tens of megabytes and a core for a tenth of a second. */
export interface Passwords {
  hash(password: string, signal?: AbortSignal): Promise<string>;
  /**
   * `stored` undefined: there is no such account, or it has no password; that takes as long. `before` runs once it is its
   * turn, and may still refuse.
   */
  check(password: string, stored: string | undefined, options?: CheckOptions): Promise<Checked>;
}

export interface CheckOptions {
  /** Of the request: nothing is worked out for a caller that has gone. */
  signal?: AbortSignal;
  before?(): Promise<void>;
}

export interface Checked {
  isRight: boolean;
  /** What to store in place of the password as it is stored. Undefined: it is good as it is. */
  upgraded: string | undefined;
}

export function createPasswords({ log, passwordCost }: { log: Log; passwordCost: PasswordCost }): Passwords {
  const inTurn = createQueue();
  let decoy: Promise<string> | undefined;
  /** A caller is not shown why, or it would know that there is an account. */
  const verify = (password: string, stored: string) =>
    verifyPassword(password, stored).catch((error: unknown) => {
      log.error('A stored password cannot be checked.', { error });
      return false;
    });
  return {
    hash: (password, signal) => inTurn(() => hashPassword(password, passwordCost), signal),
    check: (password, stored, { signal, before } = {}) =>
      inTurn(async () => {
        await before?.();
        const against = stored ?? (await (decoy ??= hashPassword(DECOY, passwordCost)));
        const isRight = (await verify(password, against)) && stored !== undefined;
        if (!isRight || !isOutdated(against, passwordCost)) return { isRight, upgraded: undefined };
        return { isRight, upgraded: await hashPassword(password, passwordCost) };
      }, signal),
  };
}

// --- internal ---

/** What is checked where there is no account. */
const DECOY = 'the password of no account';

/** Half of the threads of libuv, so that files and names are still read and resolved meanwhile. */
const AT_ONCE = 2;
/** Ten to twenty are worked off in a second. */
const MOST_WAITING = 300;
const RETRY_SECONDS = 10;

type InTurn = <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

function createQueue(): InTurn {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work, signal) => {
    if (running < AT_ONCE) running++;
    else {
      if (waiting.length >= MOST_WAITING) throw rateLimited('Too many people sign in at this moment.', RETRY_SECONDS);
      await new Promise<void>((start) => waiting.push(start));
    }
    try {
      if (signal?.aborted) throw new PlaneError('invalid_request', 'The request was given up before it was its turn.');
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
