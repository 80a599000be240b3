import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem, ProjectMigration } from '@svc/runtime/host';
import type { Decisions } from '../../dev/schema/decisions.ts';
import type { Comparison } from '../../dev/schema/compare.ts';
import type { Question } from '../../dev/schema/questions.ts';
import { CliError } from '../../errors.ts';
import { array, object, oneOf, string } from '../../payload/payload.ts';
import type { TypeOf } from '../../payload/payload.ts';
import { problemsError } from '../../workspace/workspace.ts';

/** A question as a --json document holds it. */
export const QUESTION = object({
  kind: oneOf(
    ['table', 'column', 'enum', 'value', 'sequence', 'role', 'type'],
    'What is gone or renamed; type: a column whose values become something else.',
  ),
  name: string('Its name, as --drop and --convert take it.'),
  options: array(string(), 'The flags of `svc schema generate` that answer it; give one of them.'),
});
export type QuestionDocument = TypeOf<typeof QUESTION>;

/**
 * What `src/schema.ts` says that no migration holds. Undefined: there is no such file. Throws `schema_invalid` where it
 * does not load or makes no sense.
 */
export async function readComparison(root: string, decisions?: Decisions): Promise<Comparison | undefined> {
  const [{ compareSchema, SCHEMA_FILE }, { checkDrizzle }, { openModules }, { shareRuntime }] = await Promise.all([
    import('../../dev/schema/compare.ts'),
    import('../../dev/schema/drizzle.ts'),
    import('../../dev/modules.ts'),
    import('../../workspace/share-runtime.ts'),
  ]);
  if (!existsSync(join(root, SCHEMA_FILE))) return undefined;
  await shareRuntime();
  const modules = await openModules({ root });
  try {
    checkDrizzle(root);
    const { exports } = await modules.load(SCHEMA_FILE);
    return await compareSchema(root, exports, decisions);
  } catch (error) {
    throw toSchemaError(error);
  } finally {
    await modules.close();
  }
}

/** Those of `.svc/migrations`, in order. Throws `migrations_invalid`. */
export async function readFolder(root: string): Promise<ProjectMigration[]> {
  const { readMigrations } = await import('@svc/compiler');
  try {
    return readMigrations(root);
  } catch (error) {
    throw toFolderError(error);
  }
}

/** Of the compiler's error the folder is at fault for; any other is handed back. */
export function toFolderError(error: unknown): unknown {
  const { code, message } = error as { code?: string; message: string };
  if (code !== 'migrations_invalid') return error;
  return new CliError(code, message, { suggestion: 'Run `svc schema status` once it is as it should be.' });
}

export async function toDocuments(questions: readonly Question[]): Promise<QuestionDocument[]> {
  const { listOptions } = await import('../../dev/schema/words.ts');
  return questions.map((question) => {
    return { kind: question.kind, name: question.name, options: listOptions(question).map(({ flag }) => flag) };
  });
}

/** What keeps a change from being written down, and how to answer it. */
export async function toAmbiguous(what: string, questions: readonly Question[]): Promise<CliError> {
  const { formatQuestions, GENERATE } = await import('../../dev/schema/words.ts');
  const documents = await toDocuments(questions);
  const [first] = documents;
  const only = documents.length === 1 ? first?.options.map((flag) => `${GENERATE} ${flag}`).join(' or ') : undefined;
  return new CliError('schema_ambiguous', `${what}\n${formatQuestions(questions)}`, {
    suggestion: only ?? `Add a flag for each: ${GENERATE} ${documents.map(({ options }) => options[0]).join(' ')}`,
    details: { questions: documents },
  });
}

// --- internal ---

function toSchemaError(error: unknown): unknown {
  if (error instanceof CliError) return error;
  const { code, problem, message } = error as { code?: string; problem?: Problem; message: string };
  if (code === 'migrations_invalid') return toFolderError(error);
  const suggestion = 'Correct src/schema.ts; `svc dev` shows the same while you type.';
  if (problem?.code === 'drizzle_mismatch')
    return new CliError(problem.code, message, {
      suggestion: 'Then run the command again.',
      details: { problems: [problem] },
    });
  if (problem) return problemsError('schema_invalid', [problem], { what: 'src/schema.ts does not load', suggestion });
  return new CliError('schema_invalid', `src/schema.ts cannot be used: ${message}`, { suggestion });
}
