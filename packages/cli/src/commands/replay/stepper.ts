import { createInterface } from 'node:readline';

/** Holds a replay after each step until a person presses Enter. */
export interface Stepper {
  /** A step has its answer: the next `wait` waits. */
  passed(): void;
  wait(): Promise<void>;
  close(): void;
}

/** Once there is no more input, nothing is waited for. */
export function createStepper(say: (line: string) => void, input: NodeJS.ReadableStream = process.stdin): Stepper {
  const lines = createInterface({ input });
  const state = { typed: 0, isOver: false, wake() {} };
  lines.on('line', () => {
    state.typed += 1;
    state.wake();
  });
  lines.on('close', () => {
    state.isOver = true;
    state.wake();
  });
  let isDue = false;
  return {
    passed() {
      isDue = true;
    },
    async wait() {
      if (!isDue || state.isOver) return;
      isDue = false;
      say('Press Enter for the next step.');
      while (state.typed === 0 && !state.isOver) await new Promise<void>((resolve) => (state.wake = resolve));
      state.typed -= 1;
    },
    close: () => lines.close(),
  };
}
