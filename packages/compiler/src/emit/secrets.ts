import { emitRegister, headerOf, specifierOf } from './_text.ts';

/**
 * `.svc/secrets.d.ts`: the secrets that `svc.config.ts` lists; none where it lists none, and then any name compiles.
 * @param config the file of the settings. Undefined: there is none
 */
export function emitSecretsTypes(config: string | undefined): string {
  const header = headerOf(config);
  if (config === undefined) return [header, emitRegister('SecretRegister', []), '', 'export {};', ''].join('\n');
  return [
    header,
    `import type * as c from ${specifierOf(config)};`,
    '',
    'type Names<C> = C extends { secrets?: readonly (infer N extends string)[] } ? N : never;',
    'type Secrets = { [N in Names<typeof c.default>]: unknown };',
    '',
    "declare module '@svc/runtime' {\n  interface SecretRegister extends Secrets {}\n}",
    '',
    'export {};',
    '',
  ].join('\n');
}
