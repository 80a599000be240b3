export interface Closer {
  add(close: () => Promise<unknown>): void;
  /** Throws the first error after everything has been closed. */
  close(): Promise<void>;
}

/** Closes what was opened, last first, once. */
export function createCloser(): Closer {
  const closers: (() => Promise<unknown>)[] = [];
  let closing: Promise<void> | undefined;
  const run = async (): Promise<void> => {
    const errors: unknown[] = [];
    for (const close of closers.reverse()) await close().catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  };
  return {
    add: (close) => void closers.push(close),
    close: () => (closing ??= run()),
  };
}
