import { formatAgo, formatDuration, formatValue } from '../terminal/format.ts';
import { toPlainText } from '../terminal/style.ts';
import type { Style } from '../terminal/style.ts';
import { paintStatus } from '../commands/runs/run.ts';
import type { Run } from '../commands/runs/run.ts';
import { toLabel } from './card.ts';
import { formatCell } from './columns.ts';
import type { Row } from './row.ts';

/** One run in full. */
export function formatRunCard(answer: Row, style: Style): string {
  const run = answer as unknown as Run;
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

// --- internal ---

function listFacts(run: Run, now: number): [string, string][] {
  const facts: [string, string | null | undefined][] = [
    ['run', run.runId],
    ['kind', run.kind],
    ['trigger', run.trigger],
    ['trace', run.traceId],
    ['session', run.sessionId],
    ['parent', run.parentRunId],
    ['retry of', run.retryOf],
    ['forked from', formatOrigin(run.forkedFrom)],
    ['continued from', run.continuedFrom],
    ['continued to', run.continuedTo],
    ['paused', run.pausedAt],
    ['timeout', run.endedAt === null ? run.timeoutAt : null],
    ['cancelled', run.cancelling && `cleans up, until ${run.cancelling.until}`],
    ['warning', run.warning],
    ['code', formatCode(run)],
    ['waits', formatWait(run.waitingFor)],
    ['created', run.createdAt],
    ['started', run.startedAt && `${run.startedAt} (${formatAgo(run.startedAt, now)})`],
    ['duration', formatDuration(run.startedAt, run.endedAt, now)],
    ['tokens', formatTokens(run)],
    ['cost', run.cost === undefined ? null : formatCost(run.cost)],
  ];
  return facts.filter((fact): fact is [string, string] => Boolean(fact[1]));
}

/** Undefined: it has the newest, as it began. */
function formatCode({ code, createdAt }: Run): string | undefined {
  if (code?.isKept) return `of ${code.movedAt ?? createdAt}, not the newest (svc upgrade --check)`;
  return code?.movedAt ? `moved to the newest of ${code.movedAt}` : undefined;
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

/** In the currency of the prices; a token alone may cost less than what a number is written with as it is. */
function formatCost(cost: number): string {
  return cost.toLocaleString('en', { maximumFractionDigits: 9, useGrouping: false });
}

function formatOrigin(from: Run['forkedFrom']): string | undefined {
  if (!from) return undefined;
  return `${from.runId}, ${from.step === null ? 'from its start' : `from step ${from.step}`}`;
}

/** `sleep, until 2026-01-31T12:00:00.000Z`: what it is, then whatever else is known. */
function formatWait(waitingFor: unknown): string | undefined {
  if (typeof waitingFor !== 'object' || waitingFor === null) return undefined;
  const { type, ...more } = waitingFor as Row;
  const facts = Object.entries(more).filter(([, value]) => value !== null);
  return [type ?? [], ...facts.map(([name, value]) => `${toLabel(name)} ${formatCell(value)}`)].flat().join(', ');
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
