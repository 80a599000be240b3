import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { onTestFinished } from 'vitest';
import type { Requirement } from '../../runtime/test/require.ts';

export const BIN = fileURLToPath(new URL('../bin.mjs', import.meta.url));

/** util-linux, which runs a command on a pseudo-terminal of its own. */
export const realTerminal: Requirement<true> = {
  value: process.platform === 'linux' && spawnSync('script', ['--version']).status === 0 ? true : undefined,
  missing: 'a pseudo-terminal (script of util-linux)',
};

export interface LiveTerminal {
  type(keys: string): void;
  /** What matches on the screen behind all that was awaited before. Throws, with the screen, where it does not come. */
  shows(pattern: RegExp): Promise<RegExpExecArray>;
  /** All that was written, control codes too. */
  raw(): string;
  /** Of the terminal, as a person would who drags the window. */
  resize(columns: number): void;
  /** A signal to the command alone. */
  kill(signal: NodeJS.Signals): void;
  /** How the command ended, and whether what is typed behind it is shown. */
  ended(): Promise<{ code: number; echoes: boolean; showsCursor: boolean }>;
}

export interface LiveOptions {
  cwd: string;
  env?: Record<string, string>;
  columns?: number;
}

/** Runs a command on a real terminal; its environment holds nothing of the test runner's. */
export function openLive(argv: readonly string[], { cwd, env = {}, columns = 80 }: LiveOptions): LiveTerminal {
  const { PATH = '' } = process.env;
  const child = spawn('script', ['-qec', `exec sh -c ${quote(WRAPPER)} sh ${argv.map(quote).join(' ')}`, '/dev/null'], {
    cwd,
    env: { PATH, TERM: 'xterm', LANG: 'C.UTF-8', HISTFILE: '', ...env, COLUMNS_OF_TEST: String(columns) },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const closed = new Promise((done) => child.once('close', done));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  let raw = '';
  let seen = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (raw += text));
  const screen = () => stripVTControlCharacters(raw).replaceAll('\r', '');
  const shows = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (const until = Date.now() + 60_000; Date.now() < until; await pause()) {
      const found = pattern.exec(screen().slice(seen));
      if (!found) continue;
      seen += found.index + found[0].length;
      return found;
    }
    throw new Error(`The terminal never showed ${pattern}. It shows:\n${screen().slice(seen)}`);
  };
  const find = (pattern: RegExp) => pattern.exec(screen())?.[1] ?? '';
  return {
    type: (keys) => void child.stdin.write(keys),
    shows,
    raw: () => raw,
    resize: (width) => void spawnSync('stty', ['-F', find(/@tty ([^@]+)@/), 'cols', String(width)]),
    kill(signal) {
      const [pid = ''] = spawnSync('pgrep', ['-P', find(/@pid (\d+)@/)], { encoding: 'utf8' }).stdout.split('\n');
      process.kill(Number(pid), signal);
    },
    async ended() {
      const [, code = '', echo] = await shows(/@ended (\d+) (-?)echo@/);
      return { code: Number(code), echoes: echo === '', showsCursor: raw.lastIndexOf(HIDE) <= raw.lastIndexOf(SHOW) };
    },
  };
}

// --- internal ---

const HIDE = '\u001B[?25l';
const SHOW = '\u001B[?25h';

/** Stays when a Ctrl-C ends the command, and says in what state that leaves the terminal. */
const WRAPPER = `stty cols "$COLUMNS_OF_TEST" rows 50; unset COLUMNS_OF_TEST; trap : INT
printf '@tty %s@@pid %s@\\n' "$(tty)" $$
"$@"
printf '\\n@ended %s %s@\\n' $? "$(stty -a | grep -oE '(^| )-?echo( |$)' | tr -d ' ')"`;

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

function pause(): Promise<void> {
  return new Promise((done) => setTimeout(done, 20));
}
