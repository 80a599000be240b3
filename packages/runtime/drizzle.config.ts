import { defineConfig } from 'drizzle-kit';

// `pnpm migrations` writes the next file of `migrations/` from the rooms' tables; then run `node scripts/make-template.mjs`.
// Paths are seen from the workspace root, where the command runs.
export default defineConfig({
  dialect: 'postgresql',
  schema: './packages/runtime/src/*/table.ts',
  out: './packages/runtime/migrations',
  schemaFilter: ['svc'],
});
