import type { Group } from '../group.ts';

export const schema: Group = {
  summary: "Migrate the project's own tables, those of src/schema.ts.",
  page: 'database',
  examples: ['svc schema status', 'svc schema generate --rename users.name=users.full_name'],
  verbs: {
    status: {
      summary: 'Show what is applied, what is pending and what is to be decided.',
      load: async () => (await import('../commands/schema/status.ts')).showSchema,
    },
    generate: {
      summary: 'Write the migration for what src/schema.ts says by now.',
      load: async () => (await import('../commands/schema/generate.ts')).generateMigration,
    },
    apply: {
      summary: 'Apply the migrations the database has not got yet.',
      load: async () => (await import('../commands/schema/apply.ts')).applyMigrations,
    },
  },
};
