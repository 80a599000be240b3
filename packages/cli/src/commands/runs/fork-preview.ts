import type { OperationOutput } from '@svc/runtime/client';
import { toPlainText } from '../../terminal/style.ts';
import type { Style } from '../../terminal/style.ts';
import { wrapText } from '../../terminal/wrap.ts';

export type ForkPreview = OperationOutput<'runs.fork_preview'>;

/** What would be taken and executed again, a line each. */
export function listForkLines(preview: ForkPreview, style: Pick<Style, 'columns'>): string[] {
  const { taken, again, againTokens, heldHooks = [], ends, step, name, runId } = preview;
  const from = step === null ? 'from its start' : `from step ${step}${name === null ? '' : `, ${toPlainText(name)}`}`;
  const head = `Takes ${count(taken.steps, 'step')} of run ${runId} as recorded (${tokens(taken.totalTokens)}), and goes on ${from}.`;
  const width = Math.max(...again.map((one) => one.name.length), 0);
  const rows = again.map((one) => {
    const effect =
      one.isEffect && one.done > 0 ? `, done ${one.done === 1 ? 'once' : `${one.done} times`} already` : '';
    const spent = one.totalTokens > 0 ? `, ${tokens(one.totalTokens)}` : '';
    return `  ${toPlainText(one.name).padEnd(width)}  ${one.kind}, ${count(one.count, 'call')}${effect}${spent}`;
  });
  const sum =
    rows.length === 0
      ? ['Nothing that it has recorded is executed again.']
      : [`Executed again, unless the code has changed (${tokens(againTokens)}):`, ...rows];
  const held = heldHooks.map(
    (hook) =>
      `The token of the hook of step ${hook.step} is ${hook.by === 'source' ? 'still that of the run' : 'that of another open run'}: the fork fails there, unless it makes another.`,
  );
  const end = ends ? ['The run is open: it is cancelled, with what it started, and without its clean-up.'] : [];
  return [wrapText(head, style), ...sum, ...[...held, ...end].map((line) => wrapText(line, style))];
}

// --- internal ---

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}

function tokens(number: number): string {
  return count(number, 'token');
}
