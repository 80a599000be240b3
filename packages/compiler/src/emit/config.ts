import { emitRegister, headerOf, SCHEMA_TYPES, specifierOf } from './_text.ts';

/** `.svc/config.d.ts`: the values `config.schema.ts` describes, by key; none when there is no such file. */
export function emitConfigTypes({ hasConfigSchema }: { hasConfigSchema: boolean }): string {
  const header = headerOf('config.schema.ts');
  if (!hasConfigSchema) return [header, emitRegister('ConfigRegister', []), '', 'export {};', ''].join('\n');
  return [
    header,
    `import type * as c from ${specifierOf('config.schema.ts')};`,
    '',
    SCHEMA_TYPES,
    VALUES_TYPE,
    'type Config = Values<typeof c.default>;',
    '',
    "declare module '@svc/runtime' {\n  interface ConfigRegister extends Config {}\n}",
    '',
    'export {};',
    '',
  ].join('\n');
}

// --- internal ---

/** One schema of the whole, or a record of schemas. */
const VALUES_TYPE = `type Values<S> = S extends { _zod: { output: infer O } }
  ? O
  : S extends { _output: infer O }
    ? O
    : { [K in keyof S]: Output<S[K]> };`;
