import { readCancel } from '../engine/journal/cancel.ts';
import { z } from 'zod';
import type { RunningStep } from '../engine/run/step-attempts.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { isFinal } from '../engine/journal/run.ts';
import { nameOfStep } from '../engine/lifecycle.ts';
import { toIso } from '../json-value.ts';
import { placeOf, toRunError } from './run-error.ts';
import { readFacts } from './why-facts.ts';
import type { Facts, WhySources } from './why-facts.ts';

export const REASON_CODES = [
  'gate_closed',
  'queued_behind',
  'start_delayed',
  'not_taken',
  'due',
  'step_running',
  'step_retrying',
  'body_running',
  'other_process',
  'paused',
  'cancelling',
  'lease_expired',
  'process_died',
  'sleeping',
  'hook_pending',
  'webhook_pending',
  'event_pending',
  'approval_pending',
  'child_running',
  'code_unavailable',
  'code_not_kept',
  'code_changed',
  'nondeterministic_workflow',
  'lock_held',
  'completed',
  'failed',
  'cancelled',
] as const;

export const Reason = z.object({
  code: z.enum(REASON_CODES),
  message: z.string(),
  suggestion: z.string().describe('What to do about it; empty: nothing'),
  runId: z.string().optional().describe('Another run it is about'),
  step: z.string().optional(),
  token: z.string().optional().describe('Of a hook'),
  approvalId: z.string().optional(),
  at: z.string().optional().describe('The line of the code: `workflows/refund.workflow.ts:12`'),
});
export type Reason = z.infer<typeof Reason>;

/** What holds the run up, the first thing first. @param depth how many runs that wait for each other are between */
export async function listReasons(facts: Facts, sources: WhySources, depth = 0): Promise<Reason[]> {
  const { run } = facts;
  if (isFinal(run.status)) return [toEnd(facts)];
  const own = [...listStates(facts), ...listWaits(facts), ...(await listChild(facts, sources, depth))];
  const reasons = [...listGates(sources), ...own];
  if (run.status === 'running' && reasons.length === 0) reasons.push(...listRunning(facts));
  if (reasons.length === 0) reasons.push(reason('due', `The run is ${run.status} and goes on by itself.`));
  return [...reasons, ...listDeaths(facts), ...listLock(facts)];
}

// --- internal ---

const MAX_DEPTH = 5;

function reason(code: Reason['code'], message: string, more: Partial<Reason> = {}): Reason {
  return { code, message, suggestion: '', ...more };
}

function toEnd({ run, retriedBy, lastFailure, cancelledBy, cancelledWith }: Facts): Reason {
  const when = run.endedAt === null ? '' : ` at ${toIso(run.endedAt)}`;
  const error = toRunError(run.error);
  const again = retriedBy === undefined ? '' : ` Run ${retriedBy} repeats it.`;
  const more = retriedBy === undefined ? {} : { runId: retriedBy };
  if (run.continuedTo !== null)
    return reason('completed', `The run went on as run ${run.continuedTo}${when}.${again}`, { runId: run.continuedTo });
  if (run.status === 'completed') return reason('completed', `The run completed${when}.${again}`, more);
  const why = error ? `: ${end(error.message)}` : '.';
  if (run.status === 'cancelled') {
    const by = cancelledBy === undefined ? '' : ` by "${cancelledBy}"`;
    const how = cancelledWith ? `${sayWith(cancelledWith, by)}.` : by === '' ? why : `${by}.`;
    const other = cancelledWith ? { runId: cancelledWith.runId } : {};
    return reason('cancelled', `The run was cancelled${when}${how}${again}`, { ...other, ...more });
  }
  const isStep = lastFailure?.event === 'failed' && toRunError(lastFailure.error)?.message === error?.message;
  const step = isStep ? lastFailure.stepId : undefined;
  const where = isStep ? ` in "${nameOfStep(lastFailure)}", after ${times(lastFailure.attempt, 'attempt')}` : '';
  const place = error ? placeOf(error) : undefined;
  const suggestion = retriedBy === undefined && run.kind === 'workflow' ? retryHint(run.runId, isStep) : '';
  return reason('failed', `The run failed${when}${where}${why}${again}`, {
    suggestion,
    ...more,
    ...(step ? { step } : {}),
    ...(place ? { at: place } : {}),
  });
}

function sayWith({ runId, hasEnded }: NonNullable<Facts['cancelledWith']>, by: string): string {
  const above = ` with run ${runId}, which has started it`;
  return hasEnded ? `${above} and has ended` : `${above} and was cancelled${by}`;
}

function retryHint(runId: string, isStep: boolean): string {
  const from = isStep ? 'goes on from the step that failed' : 'keeps what was recorded';
  return `Correct the cause, then POST /api/runs/${runId}/retry, which ${from}.`;
}

function listGates({ engine, gate }: WhySources): Reason[] {
  if (engine.armed) return [];
  const message = gate().open
    ? 'The box is still loading its code, and takes no run before that.'
    : 'The gate of the box is closed: no model provider is set, so no agent and no workflow runs.';
  const suggestion = gate().open ? '' : 'Set MODEL_PROVIDER_BASE_URL, or send PUT /api/model-provider.';
  return [reason('gate_closed', message, { suggestion })];
}

/** What the row itself says: no worker has it, or its code does not fit. */
function listStates(facts: Facts): Reason[] {
  const { run, now } = facts;
  if (run.status === 'blocked') return [toBlocked(run)];
  const cancel = readCancel(run);
  if (cancel)
    return [
      reason(
        'cancelling',
        `The run ${cancel.status === 'failed' ? 'came to its timeout' : 'was cancelled'} at ${toIso(cancel.at)}: its code cleans up, until ${toIso(run.deadline ?? cancel.at)} at the latest.`,
        {
          suggestion: `End it at once with svc runs cancel ${run.runId}, which leaves what is not cleaned up as it is.`,
        },
      ),
    ];
  if (run.pausedAt !== null)
    return [
      reason('paused', `The run was paused at ${toIso(run.pausedAt)}: it begins no step, and what is due waits.`, {
        suggestion: `Let it go on with svc runs resume ${run.runId}.`,
      }),
    ];
  if (run.status === 'queued')
    return [
      reason(
        'not_taken',
        'The run is in the journal, and no process has taken it yet; each looks once a second, and has so many runs at once.',
      ),
    ];
  if (facts.isLeaseOver) {
    const since = span(now - (run.leaseUntil ?? now));
    return [
      reason(
        'lease_expired',
        `The process that had the run has not renewed its lease for ${since}: it died or hangs. Another one takes the run within seconds.`,
      ),
    ];
  }
  const isDue = run.status === 'waiting' && run.wakeAt !== null && run.wakeAt <= now && run.owner === null;
  return isDue ? [reason('due', 'What the run waited for is there; the next look at the journal takes it.')] : [];
}

function toBlocked({ runId, waitingFor }: RunRow): Reason {
  const { code, message, at, recorded } = JSON.parse(waitingFor ?? '{}') as {
    code?: 'code_changed' | 'nondeterministic_workflow';
    message?: string;
    at?: string | null;
    recorded?: string;
  };
  const kind = code === 'nondeterministic_workflow' ? 'nondeterministic_workflow' : 'code_changed';
  const why = kind === 'code_changed' ? 'its code was changed' : 'its code does not do the same thing twice';
  return reason(kind, `The run is blocked, because ${why}. ${message ?? ''}`.trim(), {
    suggestion: `Look at it with svc pull run ${runId} and svc replay ${runId}. Then POST /api/runs/${runId}/resume continues it on code that fits, POST /api/runs/${runId}/retry with {"from":"start"} starts over, POST /api/runs/${runId}/cancel ends it.`,
    ...(recorded === undefined ? {} : { step: recorded }),
    ...(at ? { at } : {}),
  });
}

interface Waiting {
  type?: string;
  /** Of a run that waits for code. */
  code?: string;
  until?: string;
  step?: string;
  message?: string;
  /** Of an event: its name. */
  title?: string;
}

function listWaits(facts: Facts): Reason[] {
  const { run, now, retry } = facts;
  if (run.status !== 'waiting' && run.status !== 'running') return [];
  const waiting = (run.waitingFor === null ? {} : JSON.parse(run.waitingFor)) as Waiting;
  const found: Reason[] = [];
  if (waiting.type === 'sleep' && waiting.until !== undefined)
    found.push(reason('sleeping', `The run sleeps until ${waiting.until}, ${inTime(Date.parse(waiting.until), now)}.`));
  if (waiting.type === 'code') found.push(toCodeReason(facts, waiting));
  if (retry) found.push(toRetry(retry, now));
  if (run.status === 'running') return [...toRunning(facts.running ?? [], now), ...found];
  return [...found, ...listApprovals(facts), ...listHooks(facts, waiting)];
}

function toCodeReason(facts: Facts, { code, message = '' }: Waiting): Reason {
  if (code === 'code_not_kept')
    return reason('code_not_kept', `The run waits for its code, and is not tried again before. ${end(message)}`, {
      suggestion: `Bring up a replica of the build it began with, or the secret key that build had: the run goes on at once. Or move it: svc upgrade --apply --run ${facts.run.runId} looks first whether the newest code fits.`,
    });
  return reason(
    'code_unavailable',
    `The code of the run cannot be loaded: ${end(message)} It is tried again within a minute.`,
    { suggestion: toLoadable(facts) },
  );
}

/** Of a run on earlier code: its own was evaluated and has thrown, which it does until the process ends. */
function toLoadable({ run, isOnNewest }: Facts): string {
  if (isOnNewest) return 'Correct the file, or deploy a build that has it.';
  return `It is the code the run began with, not that of today: give it what it lacks (a variable, a file) and restart the box. Or let the run go on by the newest code, with svc runs resume ${run.runId}.`;
}

function toRetry({ stepId, attempt, error, at }: NonNullable<Facts['retry']>, now: number): Reason {
  const name = stepId.slice(stepId.lastIndexOf('#') + 1);
  const why = toRunError(error)?.message ?? '';
  const message = `The step "${name}" failed in attempt ${attempt} (${end(why)}) and is tried again at ${toIso(at)}, ${inTime(at, now)}.`;
  return reason('step_retrying', message.replace('.)', ')'), { step: stepId });
}

function listApprovals({ run, approvals, now }: Facts): Reason[] {
  return approvals.map(({ approvalId, title, expiresAt }) => {
    const who = run.kind === 'agent' ? `The turn of "${run.name}" waits` : 'The run waits';
    const until =
      expiresAt === null ? '' : ` The time for it is over at ${expiresAt}, ${inTime(Date.parse(expiresAt), now)}.`;
    return reason('approval_pending', `${who} until a person decides: "${title}".${until}`, {
      approvalId,
      suggestion: `Decide: POST /api/approvals/${approvalId}/decide with {"decision":"approve"} or {"decision":"reject"}.`,
    });
  });
}

function listHooks({ hooks, now }: Facts, { type, until, title = '' }: Waiting): Reason[] {
  if (type !== 'hook' && type !== 'webhook' && type !== 'event') return [];
  const ends = until === undefined ? '' : `, until ${until} at most, ${inTime(Date.parse(until), now)}`;
  if (type === 'event')
    return [
      reason('event_pending', `The run waits for the event ${title}${ends}.`, {
        suggestion: `Send it: POST /api/events/${title} with the payload.`,
      }),
    ];
  const matching = hooks.filter(({ hook }) => hook.kind === type);
  if (matching.length === 0) return [reason(`${type}_pending`, `The run waits for a ${type}${ends}.`)];
  return matching.map(({ hook: { token, kind } }) =>
    kind === 'webhook'
      ? reason('webhook_pending', `The run waits for a call of its webhook${ends}.`, {
          suggestion: 'The service that was given its address has to call it: POST /api/webhooks/<token>.',
        })
      : reason('hook_pending', `The run waits for the hook "${token}" to be resumed${ends}.`, {
          token,
          suggestion: `Resume it: POST /api/workflows/hooks/${encodeURIComponent(token)}/resume with the payload.`,
        }),
  );
}

async function listChild({ run, child }: Facts, sources: WhySources, depth: number): Promise<Reason[]> {
  const { type, step } = (run.waitingFor === null ? {} : JSON.parse(run.waitingFor)) as Waiting;
  if (run.status === 'waiting' && type === 'children')
    return [
      reason(
        'child_running',
        'The code of the run has ended; the run waits for those it has started to be waited for.',
        {
          suggestion: `See them with GET /api/runs?parent=${run.runId}.`,
        },
      ),
    ];
  if (run.status !== 'waiting' || type !== 'child') return [];
  if (!child) return [reason('child_running', `The run waits for another run (${step}), which is starting or gone.`)];
  if (!('runId' in child))
    return [
      reason('child_running', `The run waits for a start of "${child.name}" that is in the queue for its lock.`, {
        suggestion: `Look at what holds it up: svc why ${child.triggerId}`,
      }),
    ];
  const below = depth < MAX_DEPTH ? await listReasons(await readFacts(child, sources), sources, depth + 1) : [];
  const message = `The run waits for run ${child.runId} of "${child.name}", which is ${child.status}.`;
  return [
    reason('child_running', message, { runId: child.runId }),
    ...below.map((inner) => ({ runId: child.runId, ...inner })),
  ];
}

function listRunning({ run, running, isHere, suspects }: Facts): Reason[] {
  if (isHere && running?.length === 0)
    return [
      reason('body_running', 'The code of the run is at work between two steps, or its last result is being recorded.'),
    ];
  const doing =
    suspects.length === 0 ? '' : ` It was about to run ${suspects.map((step) => `"${step}"`).join(' and ')}.`;
  const until = run.leaseUntil === null ? '' : ` Its lease is good until ${toIso(run.leaseUntil)}.`;
  return [reason('other_process', `Another process (${run.owner}) has the run and is at work on it.${until}${doing}`)];
}

function toRunning(running: readonly RunningStep[], now: number): Reason[] {
  return running.map(({ kind, name, stepId, attempt, startedAt, timeout }) => {
    const what =
      kind === 'model' ? 'The model is being asked' : `The ${kind === 'tool' ? 'tool' : 'step'} "${name}" runs`;
    const limit = timeout === null ? 'it has no time limit' : `it may take ${span(timeout)}`;
    const nth = attempt > 1 ? ` This is attempt ${attempt}.` : '';
    return reason('step_running', `${what} since ${span(now - startedAt)}; ${limit}.${nth}`, { step: stepId });
  });
}

function listDeaths({ run, suspects }: Facts): Reason[] {
  if (run.crashCount === 0 || run.crashSeq !== run.seq) return [];
  const what = suspects.length === 0 ? 'the body of this run' : suspects.map((step) => `"${step}"`).join(' and ');
  const message = `A process that had this run alone died ${times(run.crashCount, 'time')} while it ran ${what}. At the fifth the run ends as failed.`;
  return [
    reason('process_died', message, {
      suggestion: 'Look at the log of the box before it died: memory, or process.exit().',
    }),
  ];
}

function listLock({ lock }: Facts): Reason[] {
  if (!lock || lock.waiting === 0) return [];
  const key = lock.key === null ? '' : ` "${lock.key}"`;
  const who = lock.waiting === 1 ? 'one start waits' : `${lock.waiting} starts wait`;
  return [reason('lock_held', `The run has the lock${key} of "${lock.name}", and ${who} for it.`)];
}

function times(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

function end(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function inTime(at: number, now: number): string {
  return at > now ? `in ${span(at - now)}` : `${span(now - at)} ago`;
}

/** `850 ms`, `42 s`, `5 min`, `3 h 20 min`, `2 d 4 h`. */
function span(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  const s = Math.floor(ms / 1_000);
  if (s < 60) return `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 60) return `${min} min`;
  const h = Math.floor(min / 60);
  if (h < 24) return min % 60 === 0 ? `${h} h` : `${h} h ${min % 60} min`;
  return h % 24 === 0 ? `${Math.floor(h / 24)} d` : `${Math.floor(h / 24)} d ${h % 24} h`;
}
