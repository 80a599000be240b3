import { formatAgo } from '../terminal/format.ts';
import { toPlainText } from '../terminal/style.ts';
import type { Style } from '../terminal/style.ts';
import { formatTable } from '../terminal/table.ts';
import type { Column } from '../terminal/table.ts';
import { formatCard } from './card.ts';
import { formatCell } from './columns.ts';
import type { OperateForm } from './form.ts';
import type { Row } from './row.ts';
import { readText, toTextFlags } from './text-flags.ts';

/** What `svc guardrails test` takes and shows. */
export const DRY_RUN: OperateForm = {
  replaces: ['text'],
  flags: toTextFlags('1,000,000 characters'),
  read: async (args, context) => ({ text: await readText(args, { what: 'text to try', context }) }),
  human: formatDryRun,
};

/** A rule, and its last hits as a table. */
export function formatRule({ hits, sides, ...rule }: Row, style: Style): string {
  const card = formatCard({ ...rule, sides: (sides as string[]).join(', ') }, style);
  const found = hits as Row[];
  if (found.length === 0) return `${card}\n\n${style.dim('It has found nothing.')}`;
  const now = Date.now();
  const columns: Column<Row>[] = [
    { title: 'at', cell: ({ at }) => formatAgo(String(at), now) },
    { title: 'place', cell: ({ place }) => formatCell(place), shrinks: 14 },
    { title: 'side', cell: ({ side }) => formatCell(side) },
    ...FOUND,
  ];
  return `${card}\n\n${style.bold('last found')}\n${formatTable(columns, found, style)}`;
}

// --- internal ---

const FOUND: Column<Row>[] = [
  { title: 'action', cell: ({ action }) => formatCell(action) },
  { title: 'count', cell: ({ count }) => formatCell(count) },
  { title: 'applied', cell: ({ isApplied }) => formatCell(isApplied) },
  { title: 'reason', cell: ({ reason }) => formatCell(reason), shrinks: 30 },
];

function formatDryRun(answer: Row, style: Style): string {
  const { verdict, rule, text } = answer;
  const hits = answer.hits as Row[];
  const says = rule === null ? '' : `  by the rule ${toPlainText(String(rule))}`;
  const paint = { pass: style.green, block: style.red }[String(verdict)] ?? style.yellow;
  const columns: Column<Row>[] = [
    { title: 'rule', cell: ({ ruleName }) => formatCell(ruleName), shrinks: 14 },
    ...FOUND,
  ];
  return [
    `${paint(String(verdict))}${says}`,
    ...(verdict === 'mask' || verdict === 'hold' ? [toPlainText(String(text))] : []),
    ...(hits.length > 0 ? ['', formatTable(columns, hits, style)] : []),
  ].join('\n');
}
