import { openClient } from '../../client.ts';
import { usageError } from '../../errors.ts';
import { formatAgo, formatDuration } from '../../format.ts';
import { formatTable } from '../../table.ts';
import type { Column } from '../../table.ts';
import { AGENT_ARG, defineVerb } from '../../verb.ts';
import { paintStatus, RUN_KINDS, RUN_STATUSES } from './run.ts';
import type { Run } from './run.ts';

export const listRuns = defineVerb({
  examples: ['svc runs list --status failed --limit 20', 'svc runs list --name greet --json'],
  args: {
    name: { type: 'string', description: 'Runs of this workflow or agent alone.' },
    status: {
      type: 'enum',
      options: [...RUN_STATUSES],
      valueHint: 'status',
      description: 'Runs in this status alone.',
    },
    kind: { type: 'enum', options: [...RUN_KINDS], valueHint: 'kind', description: 'Runs of this kind alone.' },
    limit: { type: 'string', valueHint: 'count', description: 'How many, 1 to 200. The box answers 50 by itself.' },
    cursor: { type: 'string', description: 'The nextCursor of the page before.' },
    agent: AGENT_ARG,
  },
  payload: {
    items: 'The runs, each as `GET /api/runs/:id` answers it.',
    nextCursor: 'The value of --cursor for the page after, or null.',
  },
  async run({ name, status, kind, limit, cursor, agent }, context) {
    if (limit !== undefined) checkLimit(limit);
    const query = { name, status, kind, limit, cursor };
    const page = await openClient(agent, context).get<Page>('/api/runs', query);
    const nextCursor = page.nextCursor ?? null;
    return {
      data: { items: page.items, nextCursor },
      human: (style) =>
        page.items.length === 0 ? 'No runs match.' : formatTable(createColumns(Date.now()), page.items, style),
      ...(nextCursor ? { hint: `There are more: add --cursor ${nextCursor}` } : {}),
    };
  },
});

// --- internal ---

interface Page {
  items: Run[];
  nextCursor: string | null;
}

function createColumns(now: number): Column<Run>[] {
  return [
    { title: 'id', cell: (run) => run.runId },
    { title: 'kind', cell: (run) => run.kind },
    { title: 'name', cell: (run) => run.name, shrinks: true, paint: (text, _, style) => style.bold(text) },
    { title: 'status', cell: (run) => run.status, paint: (text, run, style) => paintStatus(text, run.status, style) },
    { title: 'started', cell: (run) => formatAgo(run.startedAt, now) },
    { title: 'duration', cell: (run) => formatDuration(run.startedAt, run.endedAt, now) },
    { title: 'tokens', cell: (run) => String(run.totalTokens ?? 0) },
  ];
}

function checkLimit(text: string): void {
  const limit = /^\d+$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > 200)
    throw usageError(`--limit does not take "${text}".`, 'Use a whole number from 1 to 200.');
}
