import { openClient, toSegment } from '../client.ts';
import { toPlainText } from '../style.ts';
import type { Style } from '../style.ts';
import { defineVerb, TARGET_ARGS } from '../verb.ts';
import { paintStatus } from './runs/run.ts';
import type { Run } from './runs/run.ts';

export const explainRun = defineVerb({
  examples: ['svc why 0192f3b4-0000-7000-8000-000000000000', 'svc why 0192f3b4-0000-7000-8000-000000000000 --json'],
  args: {
    run: { type: 'positional', required: true, description: 'The run id, or the triggerId of a start that is queued.' },
    ...TARGET_ARGS,
  },
  payload: {
    runId: 'The run; null for a start that waits for its lock.',
    triggerId: 'The start that was queued, or null.',
    kind: 'workflow or agent.',
    name: 'Of the workflow or the agent.',
    status: 'As `svc runs get` shows it.',
    summary: 'One sentence.',
    reasons: 'All that holds the run up, the first thing first: code, message, suggestion and what it is about.',
    waitingFor: 'What the run says it waits for.',
    nextWakeAt: 'When it goes on by itself, or null.',
    lease: 'The process that has the run: owner, expiresAt, isHere, isExpired.',
    lock: 'Of a serial workflow: name, key, heldByRunId, waiting.',
    queuedBehind: 'Of a queued start: runId and position.',
    approval: 'The oldest one that is pending.',
    lastError: 'code, message, step and at.',
    attempt: 'Of the step that runs or is retried.',
    nextRetryAt: 'When it is tried again.',
    build: 'codeHash of the run, runningCodeHash, whether they match, and the version of the box.',
    suggestion: 'What to do next.',
  },
  async run({ run, ...target }, context) {
    const answer = await openClient(target, context).get<Why>(`/api/runs/${toSegment(run)}/why`);
    return { data: answer, human: (style) => formatWhy(answer, style) };
  },
});

// --- internal ---

/** What `GET /api/runs/:id/why` answers, as far as it is printed. */
interface Why {
  runId: string | null;
  triggerId: string | null;
  name: string;
  status: Run['status'];
  reasons: { message: string; at?: string }[];
  nextWakeAt: string | null;
  lease: { owner: string; expiresAt: string | null; isHere: boolean; isExpired: boolean } | null;
  lock: { name: string; key: string | null; heldByRunId: string | null; waiting: number } | null;
  approval: { approvalId: string; title: string } | null;
  lastError: { code: string; message: string; step: string | null; at: string | null } | null;
  attempt: number | null;
  nextRetryAt: string | null;
  build: { codeHash: string | null; runningCodeHash: string | null; matches: boolean | null; version: string };
  suggestion: string;
}

function formatWhy(why: Why, style: Style): string {
  const title = `${style.bold(toPlainText(why.name))}  ${paintStatus(why.status, why.status, style)}`;
  const story = why.reasons.map(({ message }) => toPlainText(message)).join(' ');
  const facts = listFacts(why).map(([label, value]) => `  ${style.dim(label.padEnd(10))}  ${toPlainText(value)}`);
  const next = why.suggestion === '' ? [] : ['', `${style.bold('next:')} ${toPlainText(why.suggestion)}`];
  return [title, '', story, '', ...facts, ...next].join('\n');
}

function listFacts(why: Why): [string, string][] {
  const facts: [string, string | null | undefined][] = [
    ['run', why.runId],
    ['trigger', why.runId === null ? why.triggerId : null],
    ['code', why.reasons.find(({ at }) => at !== undefined)?.at],
    ['next wake', why.nextWakeAt],
    ['attempt', why.attempt === null ? null : String(why.attempt)],
    ['retry at', why.nextRetryAt],
    ['last error', formatError(why.lastError)],
    ['approval', why.approval && `${why.approval.approvalId} (${why.approval.title})`],
    ['lock', formatLock(why.lock)],
    ['lease', formatLease(why.lease)],
    ['build', formatBuild(why.build)],
  ];
  return facts.filter((fact): fact is [string, string] => Boolean(fact[1]));
}

function formatError(error: Why['lastError']): string | undefined {
  if (!error) return undefined;
  return `${error.code}: ${error.message}${error.step === null ? '' : ` (${error.step})`}`;
}

function formatLock(lock: Why['lock']): string | undefined {
  if (!lock) return undefined;
  const name = lock.key === null ? lock.name : `${lock.name} / ${lock.key}`;
  const queue = lock.waiting === 0 ? 'nobody waits' : `${lock.waiting} waiting`;
  return `${name}, held by ${lock.heldByRunId ?? 'nobody'}, ${queue}`;
}

function formatLease(lease: Why['lease']): string | undefined {
  if (!lease) return undefined;
  const state = lease.isExpired ? 'expired' : 'until';
  return `${lease.isHere ? 'this box' : lease.owner} ${state} ${lease.expiresAt ?? ''}`.trim();
}

function formatBuild({ codeHash, runningCodeHash, matches, version }: Why['build']): string {
  const own = codeHash?.slice(0, 12) ?? 'none';
  const fits = { true: 'the code there is now', false: `now ${runningCodeHash?.slice(0, 12)}`, null: 'not comparable' };
  return `${own} (${fits[`${matches}`]}), svc ${version}`;
}
