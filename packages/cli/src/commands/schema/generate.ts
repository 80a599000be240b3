import { CliError, usageError } from '../../errors.ts';
import { defineVerb } from '../../verb.ts';
import { DIR_ARG, resolveWorkspace } from '../../workspace.ts';
import { readComparison, toDocuments } from './_schema.ts';

export const generateMigration = defineVerb({
  examples: [
    'svc schema generate --rename users.name=users.full_name',
    'svc schema generate ./playground --drop users.age --drop visits',
  ],
  args: {
    dir: DIR_ARG,
    rename: {
      type: 'string',
      valueHint: 'old=new',
      description: 'What is gone is what is new: a table, column, enum, value of an enum or sequence. Repeatable.',
    },
    drop: { type: 'string', valueHint: 'name', description: 'Drop it, with what it holds. Repeatable.' },
    convert: {
      type: 'string',
      valueHint: 'table.column',
      description: 'Convert the values of the column to its new type. Repeatable.',
    },
    name: { type: 'string', description: 'The name of the file, behind its number. Default: what it does.' },
  },
  repeatable: ['rename', 'drop', 'convert'],
  payload: {
    name: 'The name of the migration, or null: src/schema.ts has nothing that no migration holds.',
    file: 'Its file in the workspace, or null.',
    statements: 'What it runs.',
  },
  async run({ dir, rename, drop, convert, name }, context) {
    const root = resolveWorkspace(dir, context, 'svc schema generate');
    if (name !== undefined && !/^[a-z0-9][a-z0-9_-]{0,50}$/i.test(name))
      throw usageError(`--name does not take "${name}".`, 'Use letters, digits, "_" and "-".');
    const decisions = { renames: toList(rename), drops: toList(drop), converts: toList(convert) };
    const found = await readComparison(root, decisions);
    if (!found) throw noSchema(root);
    if (found.questions.length > 0) throw await undecided(found.questions);
    if (found.statements.length === 0)
      return {
        data: { name: null, file: null, statements: [] },
        human: () => 'The migrations hold all that src/schema.ts says.',
      };
    const { draftMigration } = await import('../../dev/schema/folder.ts');
    const draft = draftMigration(root, { ...found, label: name ?? found.label });
    draft.write();
    return {
      data: { name: draft.name, file: draft.file, statements: found.statements },
      human: (style) => `${style.bold('Wrote')} ${draft.file}\n${draft.sql.trimEnd()}`,
      hint: 'A running svc dev applies it; otherwise the next one does, as a deployed box does when it boots.',
    };
  },
});

// --- internal ---

function toList(text: string | undefined): string[] {
  return (text ?? '').split(',').filter((one) => one !== '');
}

function noSchema(root: string): CliError {
  return new CliError('not_found', `"${root}" has no src/schema.ts.`, {
    suggestion: 'Declare the tables of the project there, with drizzle-orm.',
  });
}

async function undecided(questions: Parameters<typeof toDocuments>[0]): Promise<CliError> {
  const { formatQuestions, GENERATE } = await import('../../dev/schema/words.ts');
  const documents = await toDocuments(questions);
  const [first] = documents;
  const only = documents.length === 1 ? first?.options.map((flag) => `${GENERATE} ${flag}`).join(' or ') : undefined;
  return new CliError('schema_ambiguous', `Nothing was written.\n${formatQuestions(questions)}`, {
    suggestion: only ?? `Add a flag for each: ${GENERATE} ${documents.map(({ options }) => options[0]).join(' ')}`,
    details: { questions: documents },
  });
}
