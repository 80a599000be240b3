import type { Terminal } from './terminal.ts';

/** Says what is under way, so that a long wait is not taken for a standstill. */
export interface Progress {
  /** The next phase begins, and the one before is over. */
  start(line: string): void;
  /** The command is over. */
  stop(): Promise<void>;
}

/** A spinner where a person looks, one plain line for each phase elsewhere, nothing where it is switched off. */
export function createProgress({ stderr }: Pick<Terminal, 'stderr'>, { isOff }: { isOff: boolean }): Progress {
  const begun = performance.now();
  let phases = 0;
  let spinner: Promise<Spinner> | undefined;
  let isOver = false;
  return {
    start(line) {
      phases += 1;
      if (isOff) return;
      const { stream } = stderr;
      if (!stderr.isTTY || stream === undefined) return stderr.write(`${line}\n`);
      spinner = (spinner ?? import('yocto-spinner').then(({ default: create }) => create({ stream, ...SPINNER }))).then(
        (shown) => (isOver ? shown : shown.start(line)),
      );
    },
    async stop() {
      isOver = true;
      (await spinner)?.stop();
      if (isOff || phases === 0) return;
      const seconds = (performance.now() - begun) / 1000;
      if (seconds >= SHOWN_FROM_S) stderr.write(`Took ${seconds.toFixed(1)} s\n`);
    },
  };
}

// --- internal ---

/** A wait that was none is not talked about. */
const SHOWN_FROM_S = 2;
/** Ctrl-C is the business of the command. Ten frames a second are enough, also over a slow line. */
const SPINNER = {
  handleSignals: false,
  spinner: { frames: ['-', '\\', '|', '/'], interval: 100 },
};

interface Spinner {
  start(text: string): Spinner;
  stop(): Spinner;
}
