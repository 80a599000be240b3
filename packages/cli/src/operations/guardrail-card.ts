import { formatAgo } from '../terminal/format.ts';
import { toPlainText } from '../terminal/style.ts';
import type { Style } from '../terminal/style.ts';
import { formatTable } from '../terminal/table.ts';
import type { Column } from '../terminal/table.ts';
import { formatCard } from './card.ts';
import { formatCell } from './columns.ts';
import { createShortener } from './short-id.ts';
import type { OperationForm } from './form.ts';
import type { Row } from './row.ts';
import { readText, toTextFlags } from './text-flags.ts';
import { usageError } from '../errors.ts';

/** What `svc guardrails test` takes and shows. */
export const DRY_RUN: OperationForm = {
  replaces: ['text', 'runId'],
  flags: {
    ...toTextFlags('1,000,000 characters'),
    run: { type: 'string', valueHint: 'id', description: 'A recorded run to try them on, in place of a text.' },
  },
  async read(args, context) {
    const given = TRIED.filter((flag) => args[flag] !== undefined);
    // A text that comes twice is refused where it is read.
    if (given.length > 1 && given.some((flag) => flag.startsWith('run')))
      throw usageError(
        `${given.map((flag) => `--${flag}`).join(' and ')} cannot be tried together.`,
        'Use one of --text, --file, --run <id> and --runs.',
      );
    if (args.run !== undefined) return { runId: args.run };
    return given[0]?.startsWith('runs') ? {} : { text: await readText(args, { what: 'text to try', context }) };
  },
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

/** What says what is tried. */
const TRIED = ['text', 'file', 'run', 'runs', 'runs-file'];

const FOUND: Column<Row>[] = [
  { title: 'action', cell: ({ action }) => formatCell(action) },
  { title: 'count', cell: ({ count }) => formatCell(count) },
  { title: 'applied', cell: ({ isApplied }) => formatCell(isApplied) },
  { title: 'reason', cell: ({ reason }) => formatCell(reason), shrinks: 30 },
];

function formatDryRun(answer: Row, style: Style): string {
  const { verdict, rule, text } = answer;
  const runs = answer.runs as Row[];
  const hits = answer.hits as Row[];
  const says = rule === null ? '' : `  by the rule ${toPlainText(String(rule))}`;
  const lines = [`${paint(verdict, style)}${says}`];
  if (runs.length > 0) return [...lines, '', ...formatRuns(runs, style)].join('\n');
  if (verdict === 'mask' || verdict === 'hold') lines.push(toPlainText(String(text)));
  return [...lines, ...(hits.length > 0 ? ['', formatTable([RULE, ...FOUND], hits, style)] : [])].join('\n');
}

/** The places where something was found, each with its run, and what there is beside them. */
function formatRuns(runs: readonly Row[], style: Style): string[] {
  const rows = runs.flatMap(({ runId, name, places }) =>
    (places as Row[]).flatMap(({ side, step, tools, hits }) =>
      (hits as Row[]).map((hit) => ({ ...hit, runId, name, side, step: step ?? 'start', tools })),
    ),
  );
  const shorten = createShortener(runs.map(({ runId }) => String(runId)));
  const columns: Column<Row>[] = [
    { title: 'run', cell: ({ runId }) => shorten(String(runId)) },
    { title: 'of', cell: ({ name }) => formatCell(name), shrinks: 14 },
    { title: 'side', cell: ({ side }) => formatCell(side) },
    { title: 'step', cell: ({ step }) => formatCell(step) },
    { title: 'tool', cell: ({ tools }) => formatCell((tools as string[]).join(', ')), shrinks: 14 },
    RULE,
    ...FOUND,
  ];
  const judged = runs.reduce((sum, one) => sum + Number(one.judged), 0);
  const problems = runs.flatMap(({ runId, problem }) =>
    problem === null ? [] : [style.yellow(`${shorten(String(runId))}: ${toPlainText(String(problem))}`)],
  );
  return [
    ...(rows.length > 0 ? [formatTable(columns, rows, style), ''] : []),
    style.dim(`${judged} ${judged === 1 ? 'place' : 'places'} of ${runs.length} ${runs.length === 1 ? 'run' : 'runs'}`),
    ...problems,
  ];
}

const RULE: Column<Row> = { title: 'rule', cell: ({ ruleName }) => formatCell(ruleName), shrinks: 14 };

function paint(verdict: unknown, style: Style): string {
  const painted = { pass: style.green, block: style.red }[String(verdict)] ?? style.yellow;
  return painted(String(verdict));
}
