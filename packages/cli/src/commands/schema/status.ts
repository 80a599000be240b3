import type { ProjectMigration } from '@svc/runtime/host';
import type { Question } from '../../dev/schema/questions.ts';
import { array, boolean, object, string } from '../../payload/payload.ts';
import { defineVerb } from '../../verb.ts';
import { DIR_ARG, resolveWorkspace } from '../../workspace/workspace.ts';
import { openWorkspaceDatabase } from './_database.ts';
import { QUESTION, readComparison, readFolder, toDocuments } from './_schema.ts';

export const showSchema = defineVerb({
  examples: ['svc schema status', 'svc schema status ./playground --json'],
  args: { dir: DIR_ARG },
  payload: object({
    migrations: array(
      object({ name: string('Its name.'), applied: boolean('Whether the database carries it.') }),
      'Those of .svc/migrations, in order.',
    ),
    missing: array(string(), 'The names of those the database carries and .svc/migrations does not hold.'),
    edited: array(string(), 'The names of those whose file was edited after it was applied.'),
    changes: array(
      string(),
      'The statements src/schema.ts needs that no migration holds; none while a question is open.',
    ),
    questions: array(QUESTION, 'What is to be decided first.'),
  }),
  async run({ dir }, context) {
    const root = resolveWorkspace(dir, context, 'svc schema status');
    const migrations = await readFolder(root);
    const found = await readComparison(root);
    const applied = await readApplied({ root, env: context.env });
    const questions = found?.questions ?? [];
    const data = {
      ...compare(migrations, applied),
      changes: found?.statements ?? [],
      questions: await toDocuments(questions),
    };
    const text = await format(data, questions);
    return { data, human: () => text };
  },
});

// --- internal ---

interface Applied {
  name: string;
  hash: string;
}

interface Compared {
  migrations: { name: string; applied: boolean }[];
  missing: string[];
  edited: string[];
}

async function readApplied(options: { root: string; env: Record<string, string | undefined> }): Promise<Applied[]> {
  const { listAppliedMigrations } = await import('@svc/runtime/host');
  const database = await openWorkspaceDatabase({ ...options, mayCreate: false });
  if (!database) return [];
  try {
    return await listAppliedMigrations(database.client);
  } finally {
    await database.close();
  }
}

function compare(migrations: readonly ProjectMigration[], applied: readonly Applied[]): Compared {
  const hashes = new Map(applied.map(({ name, hash }) => [name, hash]));
  const names = new Set(migrations.map(({ name }) => name));
  return {
    migrations: migrations.map(({ name }) => ({ name, applied: hashes.has(name) })),
    missing: applied.map(({ name }) => name).filter((name) => !names.has(name)),
    edited: migrations.filter(({ name, hash }) => (hashes.get(name) ?? hash) !== hash).map(({ name }) => name),
  };
}

async function format(
  { migrations, missing, edited, changes }: Compared & { changes: string[] },
  questions: readonly Question[],
): Promise<string> {
  const { formatQuestions, GENERATE } = await import('../../dev/schema/words.ts');
  const lines = [
    ...migrations.map(({ name, applied }) => `${applied ? 'applied' : 'pending'}  ${name}`),
    ...missing.map((name) => `missing  ${name}: the database carries it, .svc/migrations does not hold it`),
    ...edited.map((name) => `edited   ${name}: its file is not the one that was applied`),
    ...(changes.length > 0
      ? [`src/schema.ts needs, and no migration holds (write one: ${GENERATE}):`, ...changes]
      : []),
    ...(questions.length > 0 ? [formatQuestions(questions)] : []),
  ];
  return lines.join('\n') || 'There are no migrations, and nothing to migrate.';
}
