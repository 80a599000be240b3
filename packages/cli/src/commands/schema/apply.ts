import { CliError } from '../../errors.ts';
import { array, object, string } from '../../payload/payload.ts';
import { defineVerb } from '../../verb.ts';
import { DIR_ARG, resolveWorkspace } from '../../workspace/workspace.ts';
import { openWorkspaceDatabase } from './_database.ts';
import { readFolder } from './_schema.ts';

export const applyMigrations = defineVerb({
  examples: ['svc schema apply', 'svc schema apply ./playground --json'],
  args: { dir: DIR_ARG },
  payload: object({ applied: array(string(), 'The names of the migrations this command applied, in order.') }),
  async run({ dir }, context) {
    const root = resolveWorkspace(dir, context, 'svc schema apply');
    const [{ applyProjectMigrations, listAppliedMigrations }, { writeApplied }] = await Promise.all([
      import('@svc/runtime/host'),
      import('../../dev/schema/applied.ts'),
    ]);
    const migrations = await readFolder(root);
    const database = await openWorkspaceDatabase({ root, env: context.env, mayCreate: true });
    const applied: string[] = [];
    try {
      const onApplied = ({ name }: { name: string }) => void applied.push(name);
      if (database) {
        const { client, isEmbedded } = database;
        await applyProjectMigrations(client, migrations, { onApplied });
        writeApplied(root, { isEmbedded, migrations: await listAppliedMigrations(client) });
      }
    } catch (error) {
      throw toApplyError(error, applied);
    } finally {
      await database?.close();
    }
    return {
      data: { applied },
      human: () => applied.map((name) => `Migrated: ${name}`).join('\n') || 'Every migration is applied already.',
    };
  },
});

// --- internal ---

const SUGGESTIONS: Record<string, string | undefined> = {
  migration_failed: 'Correct the file, then run the command again.',
  migration_changed: 'Bring the file back with git, then run the command again.',
  database_newer: 'Bring the missing files of .svc/migrations back, or use another database.',
};

/** What was applied before the one that failed stays. */
function toApplyError(error: unknown, applied: string[]): unknown {
  const { code, message, details } = error as { code?: string; message: string; details?: object };
  const suggestion = SUGGESTIONS[code ?? ''];
  return suggestion ? new CliError(code ?? '', message, { suggestion, details: { ...details, applied } }) : error;
}
