import type { OperationOutput } from '@svc/runtime/client';
import type { Problem } from '@svc/runtime/host';
import { formatProblem } from '../../terminal/format.ts';
import { toPlainText } from '../../terminal/style.ts';
import type { Style } from '../../terminal/style.ts';
import { formatTable } from '../../terminal/table.ts';
import type { Marker } from './markers.ts';
import type { Column } from '../../terminal/table.ts';
import { wrapText } from '../../terminal/wrap.ts';

export type UpgradeAnswer = OperationOutput<'upgrade.check'>;

export interface UpgradeShown {
  problems: readonly Problem[];
  unneeded: readonly Marker[];
  isApplied: boolean;
  isOne: boolean;
}

/** The counts by workflow, each place at which the code stops, the runs that stop at none, and what code no run needs. */
export function formatUpgrade(answer: UpgradeAnswer, shown: UpgradeShown, style: Style): string {
  const lines = shown.unneeded.map(({ change, file, line }) => {
    const text = `${file}:${line}: No open run needs svc.version('${change}') any more: delete the call and its old branch.`;
    return wrapText(toPlainText(text), style);
  });
  return [formatRuns(answer, shown, style), ...(lines.length > 0 ? [''] : []), ...lines].join('\n');
}

// --- internal ---

function formatRuns(
  { items, counts }: UpgradeAnswer,
  { problems, isApplied, isOne }: UpgradeShown,
  style: Style,
): string {
  if (items.length === 0) return isOne ? 'The run is not open.' : 'Every open run has the newest code.';
  const shown = new Set(problems.map(({ message }) => message.split(' ')[1]));
  const others = items.filter(({ runId, stop }) => stop !== null && !shown.has(runId)).slice(0, MOST_SHOWN);
  return [
    formatTable(isApplied ? APPLIED : CHECKED, counts, style),
    ...problems.map((problem) => `\n${wrapText(toPlainText(formatProblem(problem)), style)}`),
    ...(others.length > 0 ? [''] : []),
    ...others.map(({ runId, name, stop }) =>
      wrapText(toPlainText(`Run ${runId} of ${name}: ${stop?.message}`), { ...style, indent: 2 }),
    ),
  ].join('\n');
}

const MOST_SHOWN = 20;

type Count = UpgradeAnswer['counts'][number];

const count = (title: string, member: 'runs' | 'safe' | 'moved' | 'stops' | 'busy' | 'unchecked'): Column<Count> => ({
  title,
  cell: (row) => String(row[member]),
});
const NAME: Column<Count> = { title: 'name', cell: ({ name }) => name, shrinks: true };
const REST = [count('stop', 'stops'), count('unchecked', 'unchecked')];
const CHECKED = [NAME, count('runs', 'runs'), count('safe', 'safe'), ...REST];
const APPLIED = [NAME, count('runs', 'runs'), count('moved', 'moved'), count('busy', 'busy'), ...REST];
