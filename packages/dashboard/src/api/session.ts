/** Whether the person is still signed in where this page is served. */
export interface Session {
  isOver(): boolean;
  /** Called when it ends, and when it is back. */
  on(listener: () => void): () => void;
  /** The outcome of a request that needs a signed-in person. */
  note(isSignedIn: boolean): void;
}

export function createSession(): Session {
  const listeners = new Set<() => void>();
  let over = false;
  return {
    isOver: () => over,
    on(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    note(isSignedIn) {
      if (over !== isSignedIn) return;
      over = !isSignedIn;
      for (const listener of listeners) listener();
    },
  };
}

/** Where a person signs in, and comes back to this address. */
export function signInAddress(): string {
  return `/login?next=${encodeURIComponent(location.pathname + location.search)}`;
}
