export interface Closer {
  add(close: () => Promise<unknown>): void;
  /** Closed before everything else, what is added later included. */
  addFirst(close: () => Promise<unknown>): void;
  /** Throws the first error after everything has been closed. */
  close(): Promise<void>;
}

/** Closes what was opened, the last one first, once. */
export function createCloser(): Closer {
  const first: (() => Promise<unknown>)[] = [];
  const closers: (() => Promise<unknown>)[] = [];
  let closing: Promise<void> | undefined;
  const run = async (): Promise<void> => {
    const errors: unknown[] = [];
    for (const close of [...first, ...closers.reverse()]) await close().catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  };
  return {
    add: (close) => void closers.push(close),
    addFirst: (close) => void first.push(close),
    close: () => (closing ??= run()),
  };
}
