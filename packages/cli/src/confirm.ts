import type { Context } from './context.ts';
import { CliError } from './errors.ts';
import { toPlainText } from './terminal/style.ts';

export interface Confirming {
  /** Whether --yes was given. */
  isConfirmed: boolean;
  context: Pick<Context, 'mayAsk' | 'ask'>;
}

/** Asks the person at the terminal. Throws `confirm_required` where there is none, and stops at anything but yes. */
export async function confirmForGood(words: string, { isConfirmed, context }: Confirming): Promise<void> {
  if (isConfirmed) return;
  if (!context.mayAsk)
    throw new CliError(
      'confirm_required',
      `"${words}" cannot be undone, and there is no way to ask for confirmation here.`,
      {
        suggestion: 'Add --yes.',
      },
    );
  const answer = await context.ask(`${toPlainText(words)}: this cannot be undone. Continue? [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new CliError('generic', 'Nothing was done.', { suggestion: 'Answer y to continue, or add --yes.' });
}
