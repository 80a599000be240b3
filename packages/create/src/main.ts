import { createInterface } from 'node:readline/promises';
import { styleText } from 'node:util';
import { readArguments } from './arguments.ts';
import type { Arguments } from './arguments.ts';
import { CommandError } from './errors.ts';
import { describeHelp, formatHelp } from './help.ts';
import { init } from './init.ts';
import { formatInit } from './report.ts';
import type { Look } from './report.ts';
import { readVersion, TEMPLATES } from './source.ts';
import type { TemplateName } from './source.ts';

/** `npm create svc [dir] [-- --name <name> --with <template> --no-install --force --json --version]` */
async function main(argv: string[]): Promise<number> {
  const json = argv.includes('--json');
  try {
    const asked = readArguments(argv);
    if (asked.help) return print(json ? toDocument(describeHelp()) : formatHelp());
    if (asked.version) return print(json ? toDocument({ version: readVersion() }) : readVersion());
    const { dir, with: template, ...rest } = await complete(asked);
    const report = await init({ ...rest, dir, with: template, cwd: process.cwd(), env: process.env, say });
    return print(json ? toDocument(report) : formatInit(report, createLook()));
  } catch (error) {
    return fail(error, json);
  }
}

// --- internal ---

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

/** Asks for what is missing, on a terminal; elsewhere the folder has to be named. */
async function complete(asked: Arguments): Promise<Arguments & { dir: string; with: TemplateName }> {
  const { dir, json } = asked;
  if (dir !== undefined) return { ...asked, dir, with: asked.with ?? 'empty' };
  if (json || !process.stdin.isTTY || !process.stderr.isTTY)
    throw new CommandError('generic', 'The folder to make is not named.', {
      suggestion: 'For example: npm create svc my-workspace',
    });
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Without this, a question that Ctrl-D leaves is never answered.
  const left = new AbortController();
  terminal.once('close', () => left.abort());
  const askFor = async (question: string) =>
    (
      await terminal.question(question, { signal: left.signal }).catch(() => {
        process.stderr.write('\n');
        throw new CommandError('generic', 'Interrupted before anything was made.', {
          suggestion: 'Run the command again.',
          exitCode: 130,
        });
      })
    ).trim();
  try {
    const folder = (await askFor('Folder to make (my-workspace): ')) || 'my-workspace';
    if (asked.with) return { ...asked, dir: folder, with: asked.with };
    const typed = (await askFor(`Begin with ${TEMPLATES.join(', ')} (empty): `)) || 'empty';
    const chosen = TEMPLATES.find((name) => name === typed);
    if (!chosen)
      throw new CommandError('generic', `There is no template "${typed}".`, {
        suggestion: `Use one of: ${TEMPLATES.join(', ')}.`,
      });
    return { ...asked, dir: folder, with: chosen };
  } finally {
    terminal.close();
  }
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
