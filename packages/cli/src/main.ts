import { readFileSync } from 'node:fs';
import { CliError, EXIT, usageError } from './errors.ts';
import { createOutput, readFlags } from './terminal/output.ts';
import type { Flags } from './terminal/output.ts';
import { object, string } from './payload/payload.ts';
import type { TypeOf } from './payload/payload.ts';
import { captureTerminal, openTerminal } from './terminal/terminal.ts';
import { createProgress } from './terminal/progress.ts';
import type { Progress } from './terminal/progress.ts';
import type { CaptureOptions, Terminal } from './terminal/terminal.ts';
import { findVerb, isGroup } from './group.ts';
import type { Group } from './group.ts';
import { TREE } from './tree.ts';
import type { Context } from './context.ts';
import type { Answer } from './verb.ts';

export interface CliResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** What `svc --version --json` prints. */
export const VERSION = object({ version: string('Of this command.') });

/** The command line of this process. Answers its exit code; the caller sets it, so that pipes are written out. */
export async function main(argv: string[]): Promise<number> {
  return runIn(openTerminal(), argv, TREE);
}

/** The same commands in process: nothing is printed, nothing exits. `root`: another command line than that of svc. */
export async function runCli(argv: string[], options: CaptureOptions = {}, root: Group = TREE): Promise<CliResult> {
  const { terminal, read } = captureTerminal(options);
  const exitCode = await runIn(terminal, argv, root);
  return { exitCode, ...read() };
}

// --- internal ---

async function runIn(terminal: Terminal, argv: string[], root: Group): Promise<number> {
  const { flags, rest } = readFlags(argv);
  const output = createOutput(terminal, flags);
  const progress = createProgress(terminal, { isOff: flags.json });
  try {
    const answer = await dispatch(rest, { root, flags, context: toContext(terminal, flags, progress) });
    await progress.stop();
    return await output.answer(answer);
  } catch (error) {
    await progress.stop();
    return output.fail(error);
  }
}

interface Session {
  root: Group;
  flags: Flags;
  context: Context;
}

async function dispatch(rest: string[], { root, flags, context }: Session): Promise<Answer> {
  if (rest.length === 1 && (rest[0] === '--version' || rest[0] === '-v')) return showVersion();
  const asked = rest[0] === 'help';
  const found = findVerb(root, asked ? rest.slice(1) : rest);
  if (asked || flags.help || found.path === '') {
    const { describe } = await import('./help.ts');
    return describe(found);
  }
  const { path, node } = found;
  if (isGroup(node)) {
    const verbs = Object.keys(node.verbs).join(', ');
    throw usageError(`"svc ${path}" needs a verb: ${verbs}.`, `Run \`svc ${path} --help\`.`);
  }
  const verb = await node.load({ path, root });
  return verb.run(found.rest, path, context);
}

function toContext(terminal: Terminal, flags: Flags, progress: Progress): Context {
  return {
    cwd: terminal.cwd,
    env: terminal.env,
    signal: terminal.signal,
    json: flags.json,
    verbose: flags.verbose,
    say: (line) => {
      if (!flags.json) terminal.stderr.write(`${line}\n`);
    },
    note: (record) => {
      if (flags.json) terminal.stderr.write(`${JSON.stringify(record)}\n`);
    },
    trace: (line) => {
      if (flags.verbose) terminal.stderr.write(`${line}\n`);
    },
    progress: (line) => progress.start(line),
    mayAsk: terminal.stdin.isTTY && terminal.stderr.isTTY && !flags.json,
    async ask(question, { isHidden = false } = {}) {
      await progress.pause();
      return terminal.stdin.readLine(question, { isHidden, signal: terminal.signal }).catch(() => {
        throw new CliError('generic', 'Interrupted before anything was done.', {
          exitCode: EXIT.interrupted,
          suggestion: 'Run the command again.',
        });
      });
    },
    readStdin: async () => (terminal.stdin.isTTY ? undefined : terminal.stdin.readAll()),
  };
}

function showVersion(): Answer<TypeOf<typeof VERSION>> {
  // Both src/ and dist/ lie beside package.json.
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  return { data: { version }, human: () => version };
}
