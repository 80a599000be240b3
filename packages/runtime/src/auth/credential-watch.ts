import { BoxError } from '../errors.ts';
import { COMES_BACK } from '../http/expiry.ts';
import { isGranted } from './caller.ts';
import type { Caller, Granted, Grants } from './caller.ts';

/** What lets callers in, watched for as long as something is open for them. */
export interface CredentialWatch {
  /** From here on, until it is left. */
  enter(caller: WatchedCaller): Watched;
  /** The same, and it aborts with `COMES_BACK` as its reason once the key grants less of what the caller was granted. */
  enterGranted(caller: WatchedCaller & Pick<Caller, 'grants'>): Watched;
  /** The key has changed: it is looked at now. */
  changed(keyId: string): void;
  close(): void;
}

type WatchedCaller = Pick<Caller, 'keyId' | 'expiresAt' | 'name'>;

/** What a stream is watched by from before it is begun. */
export interface StreamWatch {
  enter(caller: Caller): Watched;
}

export interface Watched {
  /** Aborts, with an `unauthorized` as its reason, once what let the caller in is good no more. */
  signal: AbortSignal;
  leave(): void;
}

/** Of a caller that nothing can end: of a box that checks nothing, or of the operator token. */
export function unwatched(): Watched {
  return { signal: new AbortController().signal, leave() {} };
}

export interface CredentialWatchOptions {
  /** What it grants. Throws `unauthorized` when it is revoked or expired, or there is none. */
  requireKey(keyId: string): Promise<Grants>;
  now?: () => number;
}

/** One look a second for all that is open: a timer of each could not be as long as a credential is good. */
export function createCredentialWatch({ requireKey, now = Date.now }: CredentialWatchOptions): CredentialWatch {
  const open = new Set<Entry>();
  let timer: ReturnType<typeof setInterval> | undefined;

  const check = async (keyId: string): Promise<void> => {
    try {
      const grants = await requireKey(keyId);
      for (const entry of open)
        if (entry.keyId === keyId && entry.grants && hasLost(entry.grants, grants)) entry.end.abort(COMES_BACK);
    } catch (error) {
      // While the store is away no key has ended.
      if (!(error instanceof BoxError) || error.code !== 'unauthorized') return;
      for (const entry of open) if (entry.keyId === keyId) entry.end.abort(error);
    }
  };
  const look = (): void => {
    const at = now();
    for (const { expiresAt, name, end } of open) if (expiresAt <= at) end.abort(expired(name));
    for (const keyId of new Set(Array.from(open, (entry) => entry.keyId))) if (keyId !== undefined) void check(keyId);
  };
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  const enter = ({ keyId, expiresAt, name }: WatchedCaller, grants?: Grants): Watched => {
    if (keyId === undefined && expiresAt === undefined) return unwatched();
    const entry: Entry = { keyId, expiresAt: expiresAt ?? Infinity, name, grants, end: new AbortController() };
    open.add(entry);
    timer ??= setInterval(look, EVERY_MS);
    timer.unref();
    return {
      signal: entry.end.signal,
      leave() {
        open.delete(entry);
        if (open.size === 0) stop();
      },
    };
  };
  return {
    enter: (caller) => enter(caller),
    enterGranted: (caller) => enter(caller, caller.grants),
    changed(keyId) {
      for (const entry of open) if (entry.keyId === keyId) return void check(keyId);
    },
    close() {
      stop();
      open.clear();
    },
  };
}

// --- internal ---

const EVERY_MS = 1_000;

interface Entry {
  keyId: string | undefined;
  expiresAt: number;
  name: string;
  /** What is to stay granted. */
  grants: Grants | undefined;
  end: AbortController;
}

function hasLost(had: Grants, has: Grants): boolean {
  const isLost = (what: keyof Grants): boolean => {
    const granted: Granted = had[what];
    if (granted === 'all') return has[what] !== 'all';
    return granted.some((name) => !isGranted({ grants: has }, what, name));
  };
  return isLost('agents') || isLost('workflows');
}

function expired(name: string): BoxError {
  return new BoxError('unauthorized', `The credential of the ${name} is no longer valid.`, {
    details: { reason: 'expired' },
  });
}
