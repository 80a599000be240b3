import type { Writable } from 'node:stream';
import type { Terminal } from './terminal.ts';

/** Shows what is under way, so that a long wait is not taken for a standstill. */
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
  const room = () => Math.max(1, (stderr.columns || 80) - FRAME_WIDTH);
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
      spinner ??= openSpinner(stream, room);
      void spinner.then((one) => {
        if (shown === line) one.start(line);
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

/** A shorter wait is not worth a line. */
const SHOWN_FROM_S = 2;
/** Ctrl-C is the business of the command. Ten frames a second are enough, also over a slow line. */
const SPINNER = {
  handleSignals: false,
  spinner: { frames: ['-', '\\', '|', '/'], interval: 100 },
};

/** The frame and the space behind it, and a last column that stays free: not every terminal takes it without a break. */
const FRAME_WIDTH = 3;

interface Spinner {
  start(line: string): void;
  stop(): void;
}

/** `room`: how many cells of the terminal a line may take. */
async function openSpinner(stream: Writable, room: () => number): Promise<Spinner> {
  const [{ default: create }, { shorten }] = await Promise.all([import('yocto-spinner'), import('./width.ts')]);
  const spinner = create({ stream, ...SPINNER });
  let shown = '';
  const fit = () => shorten(shown, room(), '...');
  stream.on('resize', () => {
    if (spinner.isSpinning) spinner.text = fit();
  });
  // The cursor comes back however the process ends.
  process.once('exit', () => void spinner.stop());
  return {
    start(line) {
      shown = line;
      spinner.start(fit());
    },
    stop: () => void spinner.stop(),
  };
}
