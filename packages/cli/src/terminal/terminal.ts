import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** One of the two streams a command writes to. */
export interface Screen {
  write(text: string): void;
  /** Resolves once there is room for more: what is read on the other side no faster lies in no memory. */
  writeBytes(bytes: Uint8Array): Promise<void>;
  isTTY: boolean;
  columns: number | undefined;
  /** The real one behind it, for what draws by itself. */
  stream?: Writable;
}

/** Where a command reads what a person types, or what a pipe brings. */
export interface Keyboard {
  isTTY: boolean;
  /** All that a pipe or a file brings. */
  readAll(): Promise<string>;
  /** The same piece by piece, as it is. */
  readBytes(): AsyncIterable<Uint8Array>;
  /** One line a person types. Hidden: nothing of it is shown. Throws when the person leaves instead. */
  readLine(question: string, options: { isHidden: boolean; signal: AbortSignal }): Promise<string>;
}

/** Everything a command may know about where it runs. */
export interface Terminal {
  cwd: string;
  env: Record<string, string | undefined>;
  stdin: Keyboard;
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
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  return {
    cwd: process.cwd(),
    env: process.env,
    stdin: openKeyboard(),
    stdout: toScreen(process.stdout),
    stderr: toScreen(process.stderr),
    signal: controller.signal,
  };
}

/** From here on what the code of a workspace prints on stdout goes to stderr; the screens that are open write as before. */
export function reserveStdout(): void {
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
}

export interface CaptureOptions {
  cwd?: string;
  env?: Record<string, string | undefined>;
  /** Whether both streams claim to be a terminal, and how wide it is. */
  tty?: boolean;
  columns?: number;
  /** What a pipe brings, or, of a terminal, the lines a person types. Absent: a pipe that brings nothing. */
  stdin?: string | Uint8Array | readonly string[];
  signal?: AbortSignal;
  /** Called with each write to stdout, for a command that stays. */
  onStdout?: (text: string) => void;
  /** The same of stderr. */
  onStderr?: (text: string) => void;
}

/** A terminal that keeps what is written to it; of bytes each as one character. */
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
      (stream === 'stdout' ? options.onStdout : options.onStderr)?.(text);
    },
    writeBytes: async (bytes) => void (kept[stream] += Buffer.from(bytes).toString('latin1')),
  });
  const terminal: Terminal = {
    cwd: options.cwd ?? process.cwd(),
    env: options.env ?? {},
    stdin: captureKeyboard(options.stdin ?? '', (question) => void (kept.stderr += question)),
    stdout: screen('stdout'),
    stderr: screen('stderr'),
    signal: options.signal ?? new AbortController().signal,
  };
  return { terminal, read: () => ({ ...kept }) };
}

// --- internal ---

function openKeyboard(): Keyboard {
  return {
    isTTY: process.stdin.isTTY === true,
    async readAll() {
      const chunks: Buffer[] = [];
      for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Uint8Array));
      return Buffer.concat(chunks).toString('utf8');
    },
    readBytes: () => process.stdin,
    async readLine(question, options) {
      const { readTyped } = await import('../../../create/src/typing.ts');
      const typed = await readTyped(question, options);
      if (typed === undefined) throw new Error('Nothing was typed.');
      return typed;
    },
  };
}

function captureKeyboard(given: NonNullable<CaptureOptions['stdin']>, show: (question: string) => void): Keyboard {
  const isPipe = typeof given === 'string' || given instanceof Uint8Array;
  const piped = isPipe ? Buffer.from(given as Uint8Array) : Buffer.of();
  const lines = isPipe ? [] : [...(given as readonly string[])];
  return {
    isTTY: !isPipe,
    readAll: async () => piped.toString('utf8'),
    async *readBytes() {
      if (piped.length > 0) yield piped;
    },
    async readLine(question) {
      show(question);
      const line = lines.shift();
      if (line === undefined) throw new Error('Nothing was typed.');
      return line;
    },
  };
}

function toScreen(stream: NodeJS.WriteStream): Screen {
  const write = stream.write.bind(stream);
  return {
    isTTY: stream.isTTY === true,
    get columns() {
      return stream.columns;
    },
    write: (text) => void write(text),
    async writeBytes(bytes) {
      if (!write(bytes)) await once(stream, 'drain');
    },
    stream,
  };
}
