import { spawn, spawnSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';

export interface Ran {
  code: number | null;
  /** What the terminal showed, without its control codes. */
  shown: string;
}

export interface TerminalOptions {
  cwd: string;
  env?: Record<string, string>;
  /** What a person types, by a text that is shown before; in this order. */
  typed?: Record<string, string>;
}

/** Whether util-linux is here, which runs a command on a pseudo-terminal of its own. */
export const HAS_TERMINAL = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

/** Runs a command on a terminal to its end; its environment holds nothing of the test runner's. */
export async function runOnTerminal(argv: readonly string[], options: TerminalOptions): Promise<Ran> {
  const command = argv.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const { PATH = '' } = process.env;
  // `exec`: a shell in between would end by the Ctrl-C that is meant for the command.
  const child = spawn('script', ['-qec', `exec ${command}`, '/dev/null'], {
    cwd: options.cwd,
    env: { PATH, TERM: 'xterm', LANG: 'C.UTF-8', ...options.env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const typed = Object.entries(options.typed ?? {});
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
    const [sign, keys] = typed[0] ?? [];
    if (sign === undefined || keys === undefined || !stripVTControlCharacters(shown).includes(sign)) return;
    typed.shift();
    child.stdin.write(keys);
  });
  const code = await new Promise<number | null>((done, fail) => child.on('error', fail).on('close', done));
  return { code, shown: stripVTControlCharacters(shown) };
}
