import { openClient, toSegment } from '../../client.ts';
import { formatAgo, formatDuration, formatValue } from '../../format.ts';
import { toPlainText } from '../../style.ts';
import type { Style } from '../../style.ts';
import { AGENT_ARG, defineVerb } from '../../verb.ts';
import { paintStatus } from './run.ts';
import type { Run } from './run.ts';

export const getRun = defineVerb({
  examples: [
    'svc runs get 0192f3b4-0000-7000-8000-000000000000',
    'svc runs get 0192f3b4-0000-7000-8000-000000000000 --json',
  ],
  args: {
    id: { type: 'positional', required: true, description: 'The run id.' },
    agent: AGENT_ARG,
  },
  payload: { run: 'The run as `GET /api/runs/:id` answers it.' },
  async run({ id, agent }, context) {
    const run = await openClient(agent, context).get<Run>(`/api/runs/${toSegment(id)}`);
    return { data: { run }, human: (style) => formatCard(run, style) };
  },
});

// --- internal ---

function formatCard(run: Run, style: Style): string {
  const title = `${style.bold(toPlainText(run.name))}  ${paintStatus(run.status, run.status, style)}`;
  const facts = listFacts(run, Date.now()).map(
    ([label, value]) => `  ${style.dim(label.padEnd(8))}  ${toPlainText(value)}`,
  );
  const parts: [string, string | undefined][] = [
    ['input', toText(run.input)],
    ['output', toText(run.output)],
    ['error', formatError(run.error)],
  ];
  const sections = parts.map(([label, text]) =>
    text === undefined ? '' : `\n${style.bold(label)}\n${toPlainText(text)}`,
  );
  return [title, ...facts, ...sections].filter(Boolean).join('\n');
}

function listFacts(run: Run, now: number): [string, string][] {
  const facts: [string, string | null | undefined][] = [
    ['run', run.runId],
    ['kind', run.kind],
    ['trigger', run.trigger],
    ['trace', run.traceId],
    ['session', run.sessionId],
    ['parent', run.parentRunId],
    ['retry of', run.retryOf],
    ['waits', toText(run.waitingFor)],
    ['created', run.createdAt],
    ['started', run.startedAt && `${run.startedAt} (${formatAgo(run.startedAt, now)})`],
    ['duration', formatDuration(run.startedAt, run.endedAt, now)],
    ['tokens', formatTokens(run)],
  ];
  return facts.filter((fact): fact is [string, string] => Boolean(fact[1]));
}

function formatTokens(run: Run): string {
  const parts: [string, number][] = [
    ['in', run.inputTokens],
    ['out', run.outputTokens],
    ['cache read', run.cacheReadTokens],
    ['cache write', run.cacheWriteTokens],
  ];
  const spent = parts.filter(([, count]) => count > 0).map(([label, count]) => `${label} ${count}`);
  return spent.length > 0 ? `${run.totalTokens} (${spent.join(', ')})` : String(run.totalTokens ?? 0);
}

/** Undefined when the run has none. */
function toText(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : formatValue(value);
}

function formatError(error: Run['error']): string | undefined {
  if (!error) return undefined;
  const reason = error.code ? `${error.code}: ${error.message}` : error.message;
  return error.stack ? `${reason}\n${error.stack}` : reason;
}
