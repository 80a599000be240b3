import type { Manifest } from '@svc/runtime/host';
import { emitRegister, headerOf, SCHEMA_TYPES, specifierOf } from './_text.ts';

/** `.svc/config.d.ts`: the values `config.schema.ts` describes, by key; none when there is no such file. */
export function emitConfigTypes({ configSchema }: Pick<Manifest, 'configSchema'>): string {
  const header = headerOf('config.schema.ts');
  if (!configSchema) return [header, emitRegister('ConfigRegister', []), '', 'export {};', ''].join('\n');
  return [
    header,
    `import type * as c from ${specifierOf(configSchema.file)};`,
    '',
    SCHEMA_TYPES,
    'type Values<S> = { [K in keyof S]: Output<S[K]> };',
    'type Config = Values<typeof c.default>;',
    '',
    "declare module '@svc/runtime' {\n  interface ConfigRegister extends Config {}\n}",
    '',
    'export {};',
    '',
  ].join('\n');
}
