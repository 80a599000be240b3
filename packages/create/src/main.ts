import { text as readAll } from 'node:stream/consumers';
import { styleText } from 'node:util';
import { readArguments } from './arguments.ts';
import type { Arguments } from './arguments.ts';
import { checkGiven, choose } from './choices.ts';
import type { Person } from './choices.ts';
import { checkTarget } from './create.ts';
import { CommandError } from './errors.ts';
import { describeHelp, formatHelp } from './help.ts';
import { init } from './init.ts';
import { formatInit } from './report.ts';
import type { Look } from './report.ts';
import { readVersion } from './source.ts';
import { readTyped } from './typing.ts';

/** `npm create svc [dir] [-- flags of help.ts]` */
async function main(argv: string[]): Promise<number> {
  const json = argv.includes('--json');
  try {
    const asked = readArguments(argv);
    if (asked.help) return print(json ? toDocument(describeHelp()) : formatHelp());
    if (asked.version) return print(json ? toDocument({ version: readVersion() }) : readVersion());
    const checked = checkGiven(asked);
    const person = meet(asked);
    const dir = await findFolder(asked, person);
    checkTarget({ ...asked, dir });
    const choices = await choose(checked, person);
    const { name, install, force } = asked;
    const report = await init({ dir, name, install, force, ...choices, cwd: process.cwd(), env: process.env, say });
    return print(json ? toDocument(report) : formatInit(report, createLook()));
  } catch (error) {
    return fail(error, json);
  }
}

// --- internal ---

const FOLDER = 'my-workspace';

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

function toDocument(data: object): string {
  return JSON.stringify({ schema_version: 1, ...data });
}

function say(line: string): void {
  if (!process.argv.includes('--json')) process.stderr.write(`${line}\n`);
}

function fail(error: unknown, json: boolean): number {
  if (!(error instanceof CommandError)) throw error;
  const { code, message, suggestion, details, exitCode } = error;
  const document = { schema_version: 1, error: { code, message, suggestion, details } };
  if (json) process.stdout.write(`${JSON.stringify(document)}\n`);
  process.stderr.write(json ? `${message}\n` : `error: ${message}\nhelp: ${suggestion}\n`);
  return exitCode;
}

/** The folder is asked for on a terminal; elsewhere it has to be named. */
async function findFolder({ dir }: Arguments, person: Person): Promise<string> {
  if (dir !== undefined) return dir;
  if (person.mayAsk) return (await person.ask(`Folder to make (${FOLDER}): `)).trim() || FOLDER;
  throw new CommandError('generic', 'The folder to make is not named.', {
    suggestion: `For example: npm create svc ${FOLDER}`,
  });
}

function meet({ json, yes }: Arguments): Person {
  const { stdin, stderr, env } = process;
  const { signal } = new AbortController();
  return {
    mayAsk: stdin.isTTY && stderr.isTTY && !json && !yes,
    env,
    say,
    readStdin: async () => (stdin.isTTY ? undefined : readAll(stdin)),
    async ask(question, { isHidden = false } = {}) {
      const typed = await readTyped(question, { isHidden, signal });
      if (typed !== undefined) return typed;
      throw new CommandError('generic', 'Interrupted before anything was made.', {
        suggestion: 'Run the command again.',
        exitCode: 130,
      });
    },
  };
}

function createLook(): Look {
  const colour = process.stdout.isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
  const paint = (format: 'bold' | 'green' | 'yellow') => (text: string) => (colour ? styleText(format, text) : text);
  return {
    bold: paint('bold'),
    green: paint('green'),
    yellow: paint('yellow'),
    columns: process.stdout.isTTY ? process.stdout.columns || 80 : undefined,
  };
}

process.exitCode = await main(process.argv.slice(2));
