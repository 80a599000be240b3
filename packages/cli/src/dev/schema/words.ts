import { MIGRATIONS_FOLDER } from '@svc/compiler';
import { CliError } from '../../errors.ts';
import type { Question } from './questions.ts';

/** A way to answer a question. */
export interface Option {
  /** `--drop users.age`. */
  flag: string;
  meaning: string;
}

export const GENERATE = 'svc schema generate';

export function listOptions(question: Question): Option[] {
  const { name } = question;
  if (question.kind === 'type')
    return [{ flag: `--convert ${toWord(name)}`, meaning: 'its values are converted; one that cannot be is refused' }];
  const renames = question.candidates.map((to) => ({
    flag: `--rename ${toWord(`${name}=${to}`)}`,
    meaning: `it is "${to}" now`,
  }));
  return [...renames, { flag: `--drop ${toWord(name)}`, meaning: 'it is dropped, with what it holds' }];
}

/** What is open, how to answer it, and the whole command where one answer is all it takes. */
export function formatQuestions(questions: readonly Question[]): string {
  const listed = questions.map((question) => ({ what: describe(question), options: listOptions(question) }));
  const isAlone = listed.length === 1;
  const lines = listed.flatMap(({ what, options }) => {
    const flags = options.map(({ flag }) => (isAlone ? `${GENERATE} ${flag}` : flag));
    const width = Math.max(...flags.map(({ length }) => length));
    return [what, ...flags.map((flag, at) => `  ${flag.padEnd(width)}   ${options[at]?.meaning}`)];
  });
  return [...lines, ...(isAlone ? [] : [`Say it of each in one command: ${GENERATE} ...`])].join('\n');
}

/** What a migration was refused for, and what to do. */
export function formatFailure(error: unknown, file?: string): string {
  if (error instanceof CliError) return `${error.message} ${error.suggestion}`;
  const { code, message, details } = error as { code?: string; message: string; details?: Record<string, unknown> };
  if (code !== 'migration_failed') return message;
  const { sqlState, migration } = details as { sqlState?: string; migration: string };
  const advice = ADVICE[sqlState ?? ''] ?? 'Correct it';
  const where = file ?? `${MIGRATIONS_FOLDER}/${migration}.sql`;
  return `${message} ${advice} in ${where}, and save it.`;
}

// --- internal ---

const KINDS = { table: 'table', column: 'column', enum: 'enum', value: 'value', sequence: 'sequence', role: 'role' };

/** By the SQLSTATE of the statement that failed. */
const ADVICE: Record<string, string | undefined> = {
  '23502': 'There are rows without a value: give the column a default, or leave NOT NULL out until each has one,',
  '23505': 'There are rows of the same value: make them differ, or leave UNIQUE out',
  '23503': 'There are rows that refer to nothing: correct them, or leave the reference out',
  '22P02': 'There are values the new type does not have: correct them, or keep the old type',
  '42804': 'The values are not converted by themselves: write how',
  '55P04': 'A new value of an enum is used by the same migration: add the value first, and use it in the next edit,',
  '2BP01': 'Something else still needs it: remove that first,',
};

function describe(question: Question): string {
  if (question.kind === 'type') return `The column "${question.name}" is ${question.from} and is to be ${question.to}.`;
  const { kind, name, candidates } = question;
  const gone = `The ${KINDS[kind]} "${name}" is gone`;
  if (candidates.length === 0) return `${gone}.`;
  return `${gone}, and ${candidates.map((one) => `"${one}"`).join(', ')} ${candidates.length === 1 ? 'is' : 'are'} new.`;
}

/** As a shell takes it. */
function toWord(text: string): string {
  return /^[\w.=:-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
