import type { OperationOutput } from '@svc/runtime/client';
import { openClient, toSegment } from '../client/client.ts';
import { findWholeId } from '../operations/short-id.ts';
import { answerOf } from '../payload/payload.ts';
import { toVerbs } from '../routes.ts';
import { toPlainText } from '../terminal/style.ts';
import type { Style } from '../terminal/style.ts';
import { defineVerb, TARGET_ARGS } from '../verb.ts';
import { wrapText } from '../terminal/wrap.ts';
import { paintStatus } from './runs/run.ts';

export const explainRun = defineVerb({
  examples: ['svc why 0192f3b4-0000-7000-8000-000000000000', 'svc why 0192f3b4-0000-7000-8000-000000000000 --json'],
  args: {
    run: { type: 'positional', required: true, description: 'The run id, or the triggerId of a start that is queued.' },
    ...TARGET_ARGS,
  },
  payload: answerOf('runs.why'),
  async run({ run, ...target }, context) {
    const client = openClient(target, context);
    const id = await findWholeId('run', run, () => client);
    const answer = await client.get<Why>(`/api/runs/${toSegment(id)}/why`);
    return { data: answer, human: (style) => formatWhy(answer, style) };
  },
});

// --- internal ---

type Why = OperationOutput<'runs.why'>;

function formatWhy(why: Why, style: Style): string {
  const title = `${style.bold(toPlainText(why.name))}  ${paintStatus(why.status, why.status, style)}`;
  const story = why.reasons.map(({ message }) => toVerbs(toPlainText(message))).join(' ');
  const facts = listFacts(why).map(([label, value]) => `  ${style.dim(label.padEnd(10))}  ${toPlainText(value)}`);
  const todo = wrapText(toVerbs(toPlainText(why.suggestion)), { ...style, taken: 'next: '.length });
  const next = why.suggestion === '' ? [] : ['', `${style.bold('next:')} ${todo}`];
  return [title, '', wrapText(story, style), '', ...facts, ...next].join('\n');
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
  const queue = lock.waiting === 0 ? 'none waiting' : `${lock.waiting} waiting`;
  return `${name}, held by ${lock.heldByRunId ?? 'no run'}, ${queue}`;
}

function formatLease(lease: Why['lease']): string | undefined {
  if (!lease) return undefined;
  const state = lease.isExpired ? 'expired' : 'until';
  return `${lease.isHere ? 'this box' : lease.owner} ${state} ${lease.expiresAt ?? ''}`.trim();
}

function formatBuild({ codeHash, runningCodeHash, matches, since, version }: Why['build']): string {
  const own = codeHash?.slice(0, 12) ?? 'none';
  const fits = {
    true: 'the code there is now',
    false: `its own since ${since}; new runs have ${runningCodeHash?.slice(0, 12)}`,
    null: 'not comparable',
  };
  return `${own} (${fits[`${matches}`]}), svc ${version}`;
}
