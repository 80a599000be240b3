import { readFileSync } from 'node:fs';
import { usageError } from '../errors.ts';
import { array, object, oneOf, string, union } from '../payload/payload.ts';
import type { TypeOf } from '../payload/payload.ts';
import { defineVerb } from '../verb.ts';
import type { Context } from '../context.ts';
import type { Answer, Verb } from '../verb.ts';
import type { Group } from '../group.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

const WORDS = object({ lines: array(string(), 'What may follow the words typed so far, as the script reads it.') });

const printScript = defineVerb({
  examples: ['svc complete bash >> ~/.bashrc', 'svc complete zsh > ~/.svc-completion.zsh'],
  args: {
    shell: { type: 'positional', required: true, description: `One of ${SHELLS.join(', ')}.` },
  },
  completes: { shell: { words: SHELLS } },
  payload: object({
    shell: oneOf(SHELLS, 'The shell the script is for.'),
    script: string('What the shell has to read.'),
  }),
  async run({ shell }) {
    const known = SHELLS.find((one) => one === shell);
    if (!known) throw usageError(`There is no completion for "${shell}".`, `Use one of: ${SHELLS.join(', ')}.`);
    // Beside this file in the sources, and beside everything in what is built.
    const script = readFileSync(new URL(`./svc.${shell}`, import.meta.url), 'utf8');
    return { data: { shell: known, script }, human: () => script };
  },
});

/** The script of a shell; behind `--` stand the words typed so far, as the script of the shell asks for what may follow. */
export function completeVerb(root: Group): Verb {
  return {
    ...printScript,
    payload: union(printScript.payload, WORDS),
    async run(rawArgs: string[], path: string, context: Context): Promise<Answer> {
      // What is built answers this without coming here: see quick.ts.
      if (rawArgs[0] !== '--') return printScript.run(rawArgs, path, context);
      const [{ completeWords }, { readOutline }] = await Promise.all([import('./words.ts'), import('./outline.ts')]);
      const lines = completeWords(rawArgs.slice(1), { root: await readOutline(root), cwd: context.cwd });
      const data: TypeOf<typeof WORDS> = { lines };
      return { data, human: () => lines.join('\n') };
    },
  };
}
