import { readFileSync } from 'node:fs';
import { CliError, EXIT, usageError } from './errors.ts';
import { readFlags } from './terminal/flags.ts';
import type { Flags } from './terminal/flags.ts';
import { createOutput } from './terminal/output.ts';
import { object, string } from './payload/payload.ts';
import type { TypeOf } from './payload/payload.ts';
import { captureTerminal, openTerminal, reserveStdout } from './terminal/terminal.ts';
import { createProgress } from './terminal/progress.ts';
import type { Talk } from './terminal/talk.ts';
import type { CaptureOptions, Terminal } from './terminal/terminal.ts';
import { findVerb, isGroup, toLeaf } from './group.ts';
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
  const terminal = openTerminal();
  // One document and nothing else: the modules of a workspace print, too.
  if (readFlags(argv).flags.json) reserveStdout();
  return runIn(terminal, argv, TREE);
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
  const progress = createProgress(terminal, { isOff: flags.json });
  // Help and the version are answered without it.
  let opening: Promise<Talk> | undefined;
  const openTalk = () =>
    (opening ??= import('./terminal/talk.ts').then(({ createTalk }) => createTalk(terminal, { flags, progress })));
  const output = createOutput(terminal, { flags, openTalk });
  const pause = () => progress.pause();
  try {
    const openContext = async () => toContext(terminal, flags, { talk: await openTalk(), pause });
    const answer = await dispatch(rest, { root, flags, openContext });
    await progress.stop();
    return await output.answer(answer);
  } catch (error) {
    await progress.stop();
    return await output.fail(error);
  }
}

interface Session {
  root: Group;
  flags: Flags;
  openContext(): Promise<Context>;
}

async function dispatch(rest: string[], { root, flags, openContext }: Session): Promise<Answer> {
  if (rest.length === 1 && (rest[0] === '--version' || rest[0] === '-v')) return showVersion();
  const asked = rest[0] === 'help';
  const found = findVerb(root, asked ? rest.slice(1) : rest);
  if (asked || flags.help || found.path === '') {
    const { describe } = await import('./help.ts');
    return describe(found);
  }
  const { path, node } = found;
  const leaf = toLeaf(node);
  if (!leaf) {
    const verbs = isGroup(node) ? Object.keys(node.verbs).join(', ') : '';
    throw usageError(`"svc ${path}" needs a verb: ${verbs}.`, `Run \`svc ${path} --help\`.`);
  }
  const [verb, context] = await Promise.all([leaf.load({ path, root }), openContext()]);
  return verb.run(found.rest, path, context);
}

/** `pause`: nothing is shown of what is under way while a person types. */
function toContext(
  { cwd, env, signal, stdin, stderr }: Terminal,
  { json, verbose }: Flags,
  { talk, pause }: { talk: Talk; pause(): Promise<void> },
): Context {
  return {
    cwd,
    env,
    signal,
    json,
    verbose,
    say: (line) => talk.log(line),
    note: (record) => talk.log.raw(record),
    trace: (line) => talk.debug(line),
    progress: (line) => talk.start(line),
    mayAsk: stdin.isTTY && stderr.isTTY && !json,
    async ask(question, { isHidden = false } = {}) {
      await pause();
      return stdin.readLine(question, { isHidden, signal }).catch(() => {
        throw new CliError('generic', 'Interrupted before anything was done.', {
          exitCode: EXIT.interrupted,
          suggestion: 'Run the command again.',
        });
      });
    },
    readStdin: async () => (stdin.isTTY ? undefined : stdin.readAll()),
    openStdin: () => (stdin.isTTY ? undefined : stdin.readBytes()),
  };
}

function showVersion(): Answer<TypeOf<typeof VERSION>> {
  // Both src/ and dist/ lie beside package.json.
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  return { data: { version }, human: () => version };
}
