import type { Writable } from 'node:stream';
import { shorten } from './table.ts';
import type { Terminal } from './terminal.ts';

/** Says what is under way, so that a long wait is not taken for a standstill. */
export interface Progress {
  /** The next phase begins, and the one before is over. */
  start(line: string): void;
  /** Nothing is shown until the next phase: a person is asked something. */
  pause(): Promise<void>;
  /** The command is over. */
  stop(): Promise<void>;
}

/** A spinner where a person looks, one plain line for each phase elsewhere, nothing where it is switched off. */
export function createProgress(
  { stderr, env }: Pick<Terminal, 'stderr' | 'env'>,
  { isOff }: { isOff: boolean },
): Progress {
  const begun = performance.now();
  const { stream } = stderr;
  const isLive = stderr.isTTY && env.TERM !== 'dumb' && !env.CI;
  let phases = 0;
  let spinner: Promise<Spinner> | undefined;
  let shown: string | undefined;
  const toLine = () => shorten(shown ?? '', Math.max(1, (stderr.columns || 80) - FRAME_WIDTH), '...');
  const clear = async () => {
    shown = undefined;
    (await spinner)?.stop();
  };
  return {
    start(line) {
      phases += 1;
      if (isOff) return;
      if (!isLive || stream === undefined) return stderr.write(`${line}\n`);
      shown = line;
      spinner ??= openSpinner(stream, toLine);
      void spinner.then((one) => {
        if (shown === line) one.start(toLine());
      });
    },
    pause: clear,
    async stop() {
      await clear();
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

/** The frame and the space behind it, and a last column that stays free: not every terminal takes it without a break. */
const FRAME_WIDTH = 3;

interface Spinner {
  start(text: string): Spinner;
  stop(): Spinner;
  text: string;
  isSpinning: boolean;
}

async function openSpinner(stream: Writable, toLine: () => string): Promise<Spinner> {
  const { default: create } = await import('yocto-spinner');
  const spinner: Spinner = create({ stream, ...SPINNER });
  stream.on('resize', () => {
    if (spinner.isSpinning) spinner.text = toLine();
  });
  // The cursor comes back however the process ends.
  process.once('exit', () => void spinner.stop());
  return spinner;
}
