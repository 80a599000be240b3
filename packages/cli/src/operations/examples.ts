import type { Member } from './members.ts';

export interface ExampleParts {
  /** What the things of the room are called by. */
  sample: string | undefined;
  positionals: readonly string[];
  required: readonly Member[];
  /** It asks for a confirmation: without a terminal it needs --yes. */
  asks: boolean;
}

/** Two commands: one for a person, one for a program. */
export function makeExamples(
  path: string,
  { sample, positionals, required, asks }: ExampleParts,
): readonly [string, string] {
  const words = positionals.map((name) => sample ?? `<${name}>`);
  const flags = required.map(({ flag }) => `--${flag} <${flag}>`);
  const command = ['svc', path, ...words, ...flags].join(' ');
  return [command, `${command}${asks ? ' --yes' : ''} --json`];
}
