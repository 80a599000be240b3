import { emitRegister, headerOf, specifierOf } from './_text.ts';

/**
 * `.svc/prompts.d.ts`: the keys of prompts that `svc.config.ts` lists; none where it lists none, and then any key compiles.
 * @param config the file of the settings. Undefined: there is none
 */
export function emitPromptsTypes(config: string | undefined): string {
  const header = headerOf(config);
  if (config === undefined) return [header, emitRegister('PromptRegister', []), '', 'export {};', ''].join('\n');
  return [
    header,
    `import type * as c from ${specifierOf(config)};`,
    '',
    'type Keys<C> = C extends { prompts?: readonly (infer K extends string)[] } ? K : never;',
    'type Prompts = { [K in Keys<typeof c.default>]: unknown };',
    '',
    "declare module '@svc/runtime' {\n  interface PromptRegister extends Prompts {}\n}",
    '',
    'export {};',
    '',
  ].join('\n');
}
