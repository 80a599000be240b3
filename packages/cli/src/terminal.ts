/** One of the two streams a command writes to. */
export interface Screen {
  write(text: string): void;
  isTTY: boolean;
  columns: number | undefined;
}

/** Everything a command may know about where it runs. */
export interface Terminal {
  cwd: string;
  env: Record<string, string | undefined>;
  stdout: Screen;
  stderr: Screen;
  /** Aborts on the first Ctrl-C or on a request to stop. */
  signal: AbortSignal;
}

/** The real terminal. A second Ctrl-C ends the process without waiting for anything. */
export function openTerminal(): Terminal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(130);
      controller.abort();
    });
  }
  // The reader of a pipe may leave early, as `head` does; that is no failure of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  return {
    cwd: process.cwd(),
    env: process.env,
    stdout: toScreen(process.stdout),
    stderr: toScreen(process.stderr),
    signal: controller.signal,
  };
}

export interface CaptureOptions {
  cwd?: string;
  env?: Record<string, string | undefined>;
  /** Whether both streams claim to be a terminal, and how wide it is. */
  tty?: boolean;
  columns?: number;
  signal?: AbortSignal;
  /** Called with each write to stdout, for a command that stays. */
  onStdout?: (text: string) => void;
}

/** A terminal that keeps what is written to it. */
export function captureTerminal(options: CaptureOptions): {
  terminal: Terminal;
  read(): { stdout: string; stderr: string };
} {
  const kept = { stdout: '', stderr: '' };
  const screen = (stream: 'stdout' | 'stderr'): Screen => ({
    isTTY: options.tty ?? false,
    columns: options.columns,
    write(text) {
      kept[stream] += text;
      if (stream === 'stdout') options.onStdout?.(text);
    },
  });
  const terminal: Terminal = {
    cwd: options.cwd ?? process.cwd(),
    env: options.env ?? {},
    stdout: screen('stdout'),
    stderr: screen('stderr'),
    signal: options.signal ?? new AbortController().signal,
  };
  return { terminal, read: () => ({ ...kept }) };
}

// --- internal ---

function toScreen(stream: NodeJS.WriteStream): Screen {
  return {
    isTTY: stream.isTTY === true,
    get columns() {
      return stream.columns;
    },
    write: (text) => void stream.write(text),
  };
}
