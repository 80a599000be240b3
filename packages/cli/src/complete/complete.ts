import { usageError } from '../errors.ts';
import { defineVerb } from '../verb.ts';
import type { Answer, Context, Verb } from '../verb.ts';
import { completeWords } from './words.ts';
import { captureLines } from './capture.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

const printScript = defineVerb({
  examples: ['svc complete bash >> ~/.bashrc', 'svc complete zsh > ~/.svc-completion.zsh'],
  args: {
    shell: { type: 'positional', required: true, description: `One of ${SHELLS.join(', ')}.` },
  },
  payload: { shell: 'Of which the script is.', script: 'What the shell has to read.' },
  async run({ shell }) {
    if (!SHELLS.some((known) => known === shell))
      throw usageError(`There is no completion for "${shell}".`, `Use one of: ${SHELLS.join(', ')}.`);
    const { script } = await import('@bomb.sh/tab');
    const lines = captureLines(() => script(shell, 'svc', 'svc'));
    return { data: { shell, script: lines.join('\n') }, human: () => lines.join('\n') };
  },
});

/** The script of a shell; behind `--` stand the words typed so far, as the script of the shell asks for what may follow. */
export const complete: Verb = {
  ...printScript,
  async run(rawArgs: string[], path: string, context: Context): Promise<Answer> {
    if (rawArgs[0] !== '--') return printScript.run(rawArgs, path, context);
    const lines = await completeWords(rawArgs.slice(1), context);
    return { data: { lines }, human: () => lines.join('\n') };
  },
};
