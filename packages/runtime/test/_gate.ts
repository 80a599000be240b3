/** Holds code of a test until it is let through. */
export interface Gate {
  /** How many have come, let through or not. */
  readonly came: number;
  /** Rejects with the reason of the signal when that aborts first. */
  pass(signal?: AbortSignal): Promise<void>;
  open(): void;
}

export function createGate(): Gate {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  let came = 0;
  return {
    get came() {
      return came;
    },
    pass(signal) {
      came += 1;
      const aborted = new Promise<never>((_, reject) => {
        if (signal?.aborted) reject(signal.reason as Error);
        signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
      return Promise.race([opened, aborted]);
    },
    open,
  };
}
