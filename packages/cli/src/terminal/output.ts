import { EXIT, toCliError } from '../errors.ts';
import type { CliError } from '../errors.ts';
import { any, array, object, open, optional, string } from '../payload/payload.ts';
import type { TypeOf } from '../payload/payload.ts';
import type { Flags } from './flags.ts';
import { createStyle } from './style.ts';
import type { Talk } from './talk.ts';
import type { Terminal } from './terminal.ts';
import type { Answer } from '../verb.ts';
import { PROBLEM } from '../payload/problem.ts';

/** Prints what a verb answers or throws, once. Both answer the code the command ends with. */
export interface Output {
  answer(answer: Answer): Promise<number>;
  fail(error: unknown): Promise<number>;
}

export interface OutputOptions {
  flags: Flags;
  /** For what goes to stderr. */
  openTalk(): Promise<Talk>;
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

/** With --json: exactly one document on stdout, whatever happens, and the reason of a failure in one line on stderr. */
export function createOutput(terminal: Terminal, { flags, openTalk }: OutputOptions): Output {
  const { stdout, env } = terminal;
  const colour = flags.color && !flags.json;
  let printed = false;
  const printDocument = (document: object) => {
    if (flags.json && !printed) stdout.write(`${JSON.stringify({ schema_version: 1, ...document })}\n`);
    printed = true;
  };

  const printStream = async (stream: NonNullable<Answer['stream']>): Promise<number> => {
    const style = createStyle(stdout, env, { colour });
    for await (const record of stream) {
      const line = flags.json ? JSON.stringify(record.data) : record.human(style);
      if (line !== undefined) stdout.write(record.isOpen && !flags.json ? line : endLine(line));
    }
    if (flags.json) stdout.write(`${JSON.stringify({ type: 'end', schema_version: 1 })}\n`);
    return terminal.signal.aborted ? EXIT.interrupted : EXIT.ok;
  };

  return {
    async answer(answer) {
      if (answer.stream) return printStream(answer.stream);
      if (answer.bytes) {
        for await (const piece of answer.bytes) await stdout.writeBytes(piece);
        return EXIT.ok;
      }
      printDocument(answer.data);
      if (!flags.json) {
        stdout.write(endLine(answer.human(createStyle(stdout, env, { colour }))));
        if (answer.hint) (await openTalk()).info(answer.hint);
      }
      return (await answer.closed) ?? EXIT.ok;
    },

    async fail(thrown) {
      const error = toCliError(thrown);
      printDocument({ error: toErrorDocument(error) });
      const talk = await openTalk();
      talk.error.raw(thrown);
      if (thrown instanceof Error) talk.debug(thrown);
      return error.exitCode;
    },
  };
}

// --- internal ---

function toErrorDocument(error: CliError): TypeOf<typeof FAILURE>['error'] {
  return {
    code: error.code,
    message: error.message,
    suggestion: error.suggestion,
    details: error.details,
    ...(error.requestId ? { requestId: error.requestId } : {}),
  };
}

function endLine(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
