import { CliError } from '../../errors.ts';
import { defineVerb } from '../../verb.ts';
import { DIR_ARG, resolveWorkspace } from '../../workspace.ts';
import { openWorkspaceDatabase } from './_database.ts';
import { readFolder } from './_schema.ts';

export const applyMigrations = defineVerb({
  examples: ['svc schema apply', 'svc schema apply ./playground --json'],
  args: { dir: DIR_ARG },
  payload: { applied: 'The names of the migrations this command applied, in order.' },
  async run({ dir }, context) {
    const root = resolveWorkspace(dir, context, 'svc schema apply');
    const { applyProjectMigrations } = await import('@svc/runtime/host');
    const migrations = await readFolder(root);
    const database = await openWorkspaceDatabase({ root, env: context.env, mayCreate: true });
    const applied: string[] = [];
    try {
      const onApplied = ({ name }: { name: string }) => void applied.push(name);
      if (database) await applyProjectMigrations(database.client, migrations, { onApplied });
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
