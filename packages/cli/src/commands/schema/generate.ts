import { CliError, usageError } from '../../errors.ts';
import { array, nullable, object, string } from '../../payload/payload.ts';
import { defineVerb } from '../../verb.ts';
import { DIR_ARG, resolveWorkspace } from '../../workspace/workspace.ts';
import { readComparison, toAmbiguous } from './_schema.ts';

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
  payload: object({
    name: nullable(string('The name of the migration; null: src/schema.ts has nothing that no migration holds.')),
    file: nullable(string('Its file, relative to the workspace; null: none was written.')),
    statements: array(string(), 'What it runs, in order.'),
  }),
  async run({ dir, rename, drop, convert, name }, context) {
    const root = resolveWorkspace(dir, context, 'svc schema generate');
    if (name !== undefined && !/^[a-z0-9][a-z0-9_-]{0,50}$/i.test(name))
      throw usageError(`--name does not take "${name}".`, 'Use letters, digits, "_" and "-".');
    const decisions = { renames: toList(rename), drops: toList(drop), converts: toList(convert) };
    const found = await readComparison(root, decisions);
    if (!found) throw noSchema(root);
    if (found.questions.length > 0) throw await toAmbiguous('Nothing was written.', found.questions);
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
