import type { Problem } from '@svc/runtime/host';
import { EXIT, shorten, toCliError } from '../errors.ts';
import type { CliError } from '../errors.ts';
import { formatPath, formatProblem } from './format.ts';
import { any, array, object, open, optional, string } from '../payload/payload.ts';
import type { TypeOf } from '../payload/payload.ts';
import { createStyle, toPlainText } from './style.ts';
import type { Style } from './style.ts';
import type { Terminal } from './terminal.ts';
import { wrapText } from './wrap.ts';
import type { Answer } from '../verb.ts';
import { PROBLEM } from '../payload/problem.ts';

export interface Flags {
  json: boolean;
  verbose: boolean;
  color: boolean;
  help: boolean;
}

/** Prints what a verb answers or throws, once, and says with which code the command ends. */
export interface Output {
  answer(answer: Answer): Promise<number>;
  fail(error: unknown): number;
}

/** What every verb prints with --json where it fails. */
export const FAILURE = object({
  error: object({
    code: string('Never changes: docs/reference/errors.md has them all.'),
    message: string('What happened, a sentence.'),
    suggestion: string('What to do next, a sentence.'),
    details: open(
      {
        issues: optional(
          array(
            open({ path: array(any(), 'Names, and numbers of items; empty: the whole.'), message: string() }),
            'What is wrong in an input, as the box says it.',
          ),
        ),
        problems: optional(array(PROBLEM, 'What is wrong in the code of the workspace.')),
      },
      'What else is known; which members there are depends on the code.',
    ),
    requestId: optional(string("The box's name for the request.")),
  }),
});

/** Takes the flags every verb has out of the command line, wherever they stand. What follows `--` is left alone. */
export function readFlags(argv: readonly string[]): { flags: Flags; rest: string[] } {
  const end = argv.indexOf('--');
  const own = end === -1 ? argv : argv.slice(0, end);
  const has = (...names: string[]) => own.some((arg) => names.includes(arg));
  return {
    flags: { json: has('--json'), verbose: has('--verbose'), color: !has('--no-color'), help: has('--help', '-h') },
    rest: [...own.filter((arg) => !GLOBAL.includes(arg)), ...(end === -1 ? [] : argv.slice(end))],
  };
}

/** With --json: exactly one document on stdout, whatever happens, and the reason of a failure in one line on stderr. */
export function createOutput(terminal: Terminal, flags: Flags): Output {
  const { stdout, stderr, env } = terminal;
  const colour = flags.color && !flags.json;
  const talk = createStyle(stderr, env, { colour });
  let printed = false;
  const printDocument = (document: object) => {
    if (flags.json && !printed) stdout.write(`${JSON.stringify({ schema_version: 1, ...document })}\n`);
    printed = true;
  };

  const printStream = async (stream: NonNullable<Answer['stream']>): Promise<number> => {
    const style = createStyle(stdout, env, { colour });
    for await (const record of stream) {
      const line = flags.json ? JSON.stringify(record.data) : record.human(style);
      if (line !== undefined) stdout.write(endLine(line));
    }
    if (flags.json) stdout.write(`${JSON.stringify({ type: 'end', schema_version: 1 })}\n`);
    return terminal.signal.aborted ? EXIT.interrupted : EXIT.ok;
  };

  return {
    async answer(answer) {
      if (answer.stream) return printStream(answer.stream);
      printDocument(answer.data);
      if (!flags.json) {
        stdout.write(endLine(answer.human(createStyle(stdout, env, { colour }))));
        if (answer.hint) stderr.write(`${talk.dim(wrapText(toPlainText(answer.hint), talk))}\n`);
      }
      return (await answer.closed) ?? EXIT.ok;
    },

    fail(thrown) {
      const error = toCliError(thrown);
      printDocument({ error: toErrorDocument(error) });
      stderr.write(`${flags.json ? formatReason(error) : formatFailure(error, talk)}\n`);
      if (flags.verbose && thrown instanceof Error) stderr.write(`${talk.dim(thrown.stack ?? '')}\n`);
      return error.exitCode;
    },
  };
}

// --- internal ---

const GLOBAL = ['--json', '--verbose', '--no-color', '--help', '-h'];

function toErrorDocument(error: CliError): TypeOf<typeof FAILURE>['error'] {
  return {
    code: error.code,
    message: error.message,
    suggestion: error.suggestion,
    details: error.details,
    ...(error.requestId ? { requestId: error.requestId } : {}),
  };
}

/** One line, for a log. */
function formatReason(error: CliError): string {
  const issues = listIssues(error.details);
  const text = issues.length > 0 ? `${error.message} ${issues.join('; ')}` : error.message;
  return toPlainText(text).replaceAll(/\s+/g, ' ').trim();
}

function formatFailure(error: CliError, style: Style): string {
  const lines = [
    `${style.red('error:')} ${wrapText(toPlainText(error.message), { ...style, taken: 'error: '.length })}`,
    ...listIssues(error.details).map((issue) => wrapText(`  ${toPlainText(issue)}`, style)),
    ...listProblems(error.details).map((problem) => `\n${wrapText(toPlainText(formatProblem(problem)), style)}\n`),
    `${style.bold('help:')} ${wrapText(toPlainText(error.suggestion), { ...style, taken: 'help: '.length })}`,
  ];
  if (error.requestId) lines.push(style.dim(`request id: ${toPlainText(error.requestId)}`));
  return lines.join('\n');
}

/** `details.issues` as the box writes them: `[{path, message}]`. */
function listIssues(details: Record<string, unknown>): string[] {
  if (!Array.isArray(details.issues)) return [];
  return details.issues.map((issue: { path?: unknown; message?: unknown }) => {
    const path = Array.isArray(issue?.path) ? issue.path : [];
    return shorten(`${formatPath(path)}: ${String(issue?.message ?? 'is not valid')}`);
  });
}

/** `details.problems`: what is wrong in an author's files. */
function listProblems(details: Record<string, unknown>): Problem[] {
  return Array.isArray(details.problems) ? (details.problems as Problem[]) : [];
}

function endLine(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
