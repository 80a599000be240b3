/** The first line of every generated file: who wrote it, and from what. */
export function headerOf(source?: string): string {
  return `// Written by svc${source ? ` from ${source}` : ''}. Do not edit: the next change overwrites it.`;
}

/** The specifier of a workspace file as a file in `.svc/` has to write it under NodeNext and Bundler resolution. */
export function specifierOf(file: string): string {
  return JSON.stringify(`../${file.replace(/\.ts$/, '.js')}`);
}

/**
 * A declaration file that adds members to one register of the runtime. It imports what it adds to: TypeScript does not lead what
 * is added on to the client, whose the registers are, where no file of the program does.
 */
export function emitRegister(name: string, members: string[]): string {
  const body = members.length > 0 ? [`  interface ${name} {`, ...members, '  }'] : [`  interface ${name} {}`];
  return ["import type {} from '@svc/runtime';", '', "declare module '@svc/runtime' {", ...body, '}'].join('\n');
}

/** What a schema of zod 3 or zod 4 takes and gives, read from its shape so that no zod has to be found. */
export const SCHEMA_TYPES = `type Input<S> = S extends { _zod: { input: infer I } } ? I : S extends { _input: infer I } ? I : unknown;
type Output<S> = S extends { _zod: { output: infer O } } ? O : S extends { _output: infer O } ? O : unknown;`;
