import { z } from 'zod';
import type { Approval } from '../approvals/approvals.ts';
import type { QueuedStart } from '../engine/journal/queue.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { isFinal } from '../engine/journal/run.ts';
import { BoxError } from '../errors.ts';
import { toIso } from '../json-value.ts';
import { toRunError } from './run-error.ts';
import type { RunError } from './run-error.ts';
import { RunKind, RunStatus } from './run.ts';
import { listReasons, Reason } from './why-reasons.ts';
import { readFacts } from './why-facts.ts';
import type { Facts, WhySources } from './why-facts.ts';

const time = z.iso.datetime();

/** Why a run stands where it stands, by what is known at this moment. */
export const Why = z.object({
  runId: z.string().nullable().describe('Null: a start that waits for its lock and is no run yet'),
  triggerId: z.string().nullable(),
  kind: RunKind,
  name: z.string(),
  status: RunStatus,
  summary: z.string().describe('One sentence'),
  reasons: z.array(Reason).describe('All that holds the run up, the first thing first'),
  waitingFor: z.unknown().describe('As on the run'),
  nextWakeAt: time.nullable().describe('When it goes on by itself; null: when something happens'),
  lease: z
    .object({ owner: z.string(), expiresAt: time.nullable(), isHere: z.boolean(), isExpired: z.boolean() })
    .nullable()
    .describe('The process that has the run. `isHere`: it is the one that answers'),
  lock: z
    .object({
      name: z.string(),
      key: z.string().nullable(),
      heldByRunId: z.string().nullable(),
      waiting: z.int().describe('Starts that wait for it'),
    })
    .nullable()
    .describe('Of a serial workflow'),
  queuedBehind: z
    .object({ runId: z.string().nullable(), position: z.int().describe('0: the next one') })
    .nullable()
    .describe('Of a queued start'),
  approval: z
    .object({
      approvalId: z.string(),
      title: z.string(),
      source: z.string(),
      createdAt: time,
      expiresAt: time.nullable(),
    })
    .nullable()
    .describe('The oldest one that is pending'),
  lastError: z
    .object({ code: z.string(), message: z.string(), step: z.string().nullable(), at: time.nullable() })
    .nullable(),
  attempt: z.int().nullable().describe('Of the step that runs or is retried'),
  nextRetryAt: time.nullable(),
  build: z.object({
    codeHash: z.string().nullable().describe('Of the code the run began with'),
    runningCodeHash: z.string().nullable().describe('Of the code there is now; null: it does not load'),
    matches: z.boolean().nullable().describe('Null: one of them is not known'),
    version: z.string().describe('Of the box'),
  }),
  suggestion: z.string().describe('What to do next; empty: nothing'),
});
export type Why = z.infer<typeof Why>;

/** Says why a run, or a start that waits, stands where it stands. */
export interface RunWhy {
  /** @param id of a run or of a queued start. Throws `run_not_found`. */
  explain(id: string): Promise<Why>;
}

export function createRunWhy(sources: WhySources): RunWhy {
  const { journal } = sources;
  return {
    async explain(id) {
      const run = await journal.getRun(id);
      if (run) return explainRun(await readFacts(run, sources), sources);
      const found = await journal.queue.find(id);
      if (!found) throw new BoxError('run_not_found', `There is no run "${id}".`);
      return 'run' in found
        ? explainRun(await readFacts(found.run, sources), sources)
        : explainQueued(found.queued, sources);
    },
  };
}

// --- internal ---

async function explainRun(facts: Facts, sources: WhySources): Promise<Why> {
  const { run, approvals, lock, retry, running } = facts;
  const reasons = await listReasons(facts, sources);
  const [first] = reasons;
  return {
    runId: run.runId,
    triggerId: run.triggerId,
    kind: run.kind,
    name: run.name,
    status: run.status,
    summary: first?.message ?? `The run is ${run.status}.`,
    reasons,
    waitingFor: run.waitingFor === null ? null : JSON.parse(run.waitingFor),
    nextWakeAt: run.wakeAt === null || isFinal(run.status) ? null : toIso(run.wakeAt),
    lease: toLease(facts),
    lock,
    queuedBehind: null,
    approval: approvals[0] ? toApproval(approvals[0]) : null,
    lastError: lastErrorOf(facts),
    attempt: running?.[0]?.attempt ?? (retry ? retry.attempt + 1 : null),
    nextRetryAt: retry ? toIso(retry.at) : null,
    build: toBuild(run, sources),
    suggestion: reasons.find(({ suggestion }) => suggestion !== '')?.suggestion ?? '',
  };
}

async function explainQueued(start: QueuedStart, sources: WhySources): Promise<Why> {
  const { journal } = sources;
  const [holder, queue] = await Promise.all([
    journal.queue.findHolder(start.serialKey),
    journal.queue.list({ name: start.name }, { limit: 1_000 }),
  ]);
  const ahead = queue.filter(({ serialKey }) => serialKey === start.serialKey);
  const position = Math.max(
    0,
    ahead.findIndex(({ triggerId }) => triggerId === start.triggerId),
  );
  const before = position === 0 ? '' : ` ${position === 1 ? 'One start is' : `${position} starts are`} before it.`;
  const inFront = holder ? await explainRun(await readFacts(holder, sources), sources) : undefined;
  const lock = toLock(start.serialKey, holder?.runId ?? null, ahead.length);
  const held = holder
    ? `run ${holder.runId} has the lock${lock.key === null ? '' : ` "${lock.key}"`} of "${lock.name}"`
    : `no run has the lock of "${lock.name}", which the next look at the journal gives to it`;
  const message = `The start waits in the queue: ${held}.${before}`;
  const suggestion = holder
    ? `Look at what holds it up: svc why ${holder.runId}. Drop the start with DELETE /api/workflows/${start.name}/queue/${start.triggerId}.`
    : '';
  const ids = holder ? { runId: holder.runId } : {};
  return {
    runId: null,
    triggerId: start.triggerId,
    kind: 'workflow',
    name: start.name,
    status: 'queued',
    summary: message,
    reasons: [{ code: 'queued_behind', message, suggestion, ...ids }, ...(inFront?.reasons ?? [])],
    waitingFor: null,
    nextWakeAt: null,
    lease: null,
    lock,
    queuedBehind: { runId: holder?.runId ?? null, position },
    approval: inFront?.approval ?? null,
    lastError: null,
    attempt: null,
    nextRetryAt: null,
    build: toBuild({ kind: 'workflow', name: start.name, codeHash: null }, sources),
    suggestion,
  };
}

function toLock(serialKey: string, heldByRunId: string | null, waiting: number): NonNullable<Why['lock']> {
  const colon = serialKey.indexOf(':');
  const [name, key] = colon === -1 ? [serialKey, null] : [serialKey.slice(0, colon), serialKey.slice(colon + 1)];
  return { name, key, heldByRunId, waiting };
}

function toLease({ run, isHere, isLeaseOver }: Facts): Why['lease'] {
  const { owner, leaseUntil } = run;
  if (owner === null) return null;
  return { owner, expiresAt: leaseUntil === null ? null : toIso(leaseUntil), isHere, isExpired: isLeaseOver };
}

function toApproval({ approvalId, title, source, createdAt, expiresAt }: Approval): Why['approval'] {
  return { approvalId, title, source, createdAt, expiresAt };
}

function lastErrorOf({ run, lastFailure }: Facts): Why['lastError'] {
  const own: RunError | null = toRunError(run.error);
  if (own)
    return { code: own.code, message: own.message, step: null, at: run.endedAt === null ? null : toIso(run.endedAt) };
  if (!lastFailure) return null;
  const error = toRunError(lastFailure.error);
  return error && { code: error.code, message: error.message, step: lastFailure.stepId, at: toIso(lastFailure.at) };
}

function toBuild(run: Pick<RunRow, 'kind' | 'name' | 'codeHash'>, sources: WhySources): Why['build'] {
  const runningCodeHash = sources.findCodeHash(run) ?? null;
  const isKnown = run.codeHash !== null && runningCodeHash !== null;
  return {
    codeHash: run.codeHash,
    runningCodeHash,
    matches: isKnown ? run.codeHash === runningCodeHash : null,
    version: sources.version,
  };
}
