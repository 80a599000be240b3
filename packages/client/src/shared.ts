/** A value that changes, for any number of readers. */
export interface Shared<T> {
  get(): T;
  subscribe(listener: () => void): () => void;
  /** Whether it has a reader. */
  isRead(): boolean;
}

export interface SharedOptions<T> {
  first: T;
  /** Begins when the first reader comes; what it answers is called when the last one has left for a moment. */
  begin(set: (change: Partial<T>) => void): () => void;
}

/** Readers hear of changes that come together once. */
export function createShared<T extends object>({ first, begin }: SharedOptions<T>): Shared<T> {
  const listeners = new Set<() => void>();
  let value = first;
  let end: (() => void) | undefined;
  let leaving: ReturnType<typeof setTimeout> | undefined;
  let emitting: ReturnType<typeof setTimeout> | undefined;
  const emit = (): void => {
    emitting = undefined;
    for (const listener of listeners) listener();
  };
  const set = (change: Partial<T>): void => {
    value = { ...value, ...change };
    emitting ??= setTimeout(emit);
  };
  return {
    get: () => value,
    isRead: () => listeners.size > 0,
    subscribe(listener) {
      // Each reader is one of its own, whatever it hands over.
      const own = (): void => listener();
      listeners.add(own);
      clearTimeout(leaving);
      end ??= begin(set);
      return () => {
        listeners.delete(own);
        if (listeners.size > 0) return;
        clearTimeout(leaving);
        leaving = setTimeout(() => {
          end?.();
          end = undefined;
        }, LEAVING_MS);
      };
    },
  };
}

// --- internal ---

/** A page that goes from one view to the next, or mounts twice as React's strict mode does, keeps what it reads. */
const LEAVING_MS = 200;
