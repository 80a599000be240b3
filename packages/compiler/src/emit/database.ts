import type { Manifest } from '@svc/runtime/host';
import { emitRegister, headerOf, specifierOf } from './_text.ts';

/**
 * `.svc/database.d.ts`: `svc.database` over the tables and relations of `src/schema.ts`. Said in the words of the drizzle-orm
 * that file imports: with those of the runtime's own copy its tables would be foreign.
 */
export function emitDatabaseTypes({ databaseSchema }: Pick<Manifest, 'databaseSchema'>): string {
  const header = headerOf('src/schema.ts');
  if (!databaseSchema) return [header, emitRegister('DatabaseRegister', []), '', 'export {};', ''].join('\n');
  return [
    header,
    `import type { PgRemoteDatabase } from 'drizzle-orm/pg-proxy';`,
    `import type * as s from ${specifierOf(databaseSchema.file)};`,
    '',
    emitRegister('DatabaseRegister', ['    database: PgRemoteDatabase<typeof s>;']),
    '',
    'export {};',
    '',
  ].join('\n');
}
