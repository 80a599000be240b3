import { real } from '../real.ts';

/** Those who wait for something to happen to one of many runs. */
export interface Listeners<T> {
  readonly size: number;
  ids(): string[];
  has(id: string): boolean;
  call(id: string, value: T): void;
  /** Resolves at the next `call`; with undefined once the time is up, the signal aborts or it is stopped. */
  next(id: string, options?: { ms?: number; signal?: AbortSignal | undefined }): Listening<T>;
}

export interface Listening<T> {
  promise: Promise<T | undefined>;
  stop(): void;
}

export function createListeners<T>(): Listeners<T> {
  const all = new Map<string, Set<(value?: T) => void>>();
  return {
    get size() {
      return all.size;
    },
    ids: () => [...all.keys()],
    has: (id) => all.has(id),
    call(id, value) {
      const called = all.get(id);
      // A copy: a listener removes itself.
      if (called) for (const listener of Array.from(called)) listener(value);
    },
    next(id, { ms, signal } = {}) {
      let stop = (): void => {};
      const promise = new Promise<T | undefined>((resolve) => {
        const listener = (value?: T): void => {
          real.clearTimeout(timer);
          signal?.removeEventListener('abort', stop);
          const set = all.get(id);
          set?.delete(listener);
          if (set?.size === 0) all.delete(id);
          resolve(value);
        };
        stop = () => listener();
        const timer = ms === undefined ? undefined : real.setTimeout(stop, ms);
        all.set(id, (all.get(id) ?? new Set()).add(listener));
        signal?.addEventListener('abort', stop, { once: true });
        if (signal?.aborted) stop();
      });
      return { promise, stop };
    },
  };
}
