import { z } from 'zod';
import type { Approval } from '../approvals/approval.ts';
import type { QueuedStart } from '../engine/journal/queue.ts';
import { readCancel } from '../engine/journal/cancel.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { isFinal } from '../engine/journal/run.ts';
import { endOfTree, hasGoneAlong } from '../engine/worker/started-children.ts';
import { BoxError } from '../errors.ts';
import { toIso } from '../json-value.ts';
import { toRunError } from './run-error.ts';
import type { RunError } from './run-error.ts';
import { RunKind, RunStatus, toTimeoutAt } from './run.ts';
import { listReasons, Reason } from './why-reasons.ts';
import { readFacts } from './why-facts.ts';
import type { Facts, WhySources } from './why-facts.ts';

const time = z.iso.datetime();

/** The state of a run and why, by what is known at this moment. */
export const Why = z.object({
  runId: z.string().nullable().describe('Null: a start that waits for a place or a time and is no run yet'),
  triggerId: z.string().nullable(),
  kind: RunKind,
  name: z.string(),
  status: RunStatus,
  summary: z.string().describe('One sentence'),
  reasons: z.array(Reason).describe('All that holds the run up, the first thing first'),
  waitingFor: z.unknown().describe('As on the run'),
  nextWakeAt: time.nullable().describe('When it goes on by itself; null: when something happens'),
  timeoutAt: time.nullable().describe('As on the run'),
  lease: z
    .object({ owner: z.string(), expiresAt: time.nullable(), isHere: z.boolean(), isExpired: z.boolean() })
    .nullable()
    .describe('The process that has the run. `isHere`: it is the one that answers this request'),
  lock: z
    .object({
      name: z.string(),
      key: z.string().nullable(),
      heldByRunId: z.string().nullable(),
      waiting: z.int().describe('Starts that wait for it'),
    })
    .nullable()
    .describe('Of a workflow that runs so many at once'),
  queuedBehind: z
    .object({ runId: z.string().nullable(), position: z.int().describe('0: the next one') })
    .nullable()
    .describe('Of a start that waits for a place'),
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
    since: time.nullable().describe('Since when the run has its code: it began then, or was moved. Null: it has none'),
    version: z.string().describe('Of the box'),
  }),
  suggestion: z.string().describe('What to do next; empty: nothing'),
});
export type Why = z.infer<typeof Why>;

export interface WhyAsk {
  /** The name of who cancelled a run over the API. Undefined: that is not known. */
  findCanceller(runId: string): Promise<string | undefined>;
}

/** Explains the state of a run, or of a start that waits. */
export interface RunWhy {
  /** @param id of a run or of a queued start. Throws `run_not_found`. */
  explain(id: string, ask?: WhyAsk): Promise<Why>;
}

export function createRunWhy(sources: WhySources): RunWhy {
  const { journal } = sources;
  return {
    async explain(id, ask) {
      const run = await journal.getRun(id);
      const cancelled = run?.status === 'cancelled' ? await findCancelled(run, sources, ask) : {};
      if (run) return explainRun({ ...(await readFacts(run, sources)), ...cancelled }, sources);
      const found = await journal.queue.find(id);
      if (!found) throw new BoxError('run_not_found', `There is no run "${id}".`);
      return 'run' in found
        ? explainRun(await readFacts(found.run, sources), sources)
        : explainQueued(found.queued, sources);
    },
  };
}

// --- internal ---

/** Who cancelled a run, or the run above it that it has gone with. */
async function findCancelled(
  run: RunRow,
  { journal }: Pick<WhySources, 'journal'>,
  ask: WhyAsk | undefined,
): Promise<Pick<Facts, 'cancelledBy' | 'cancelledWith'>> {
  let cancelledWith: Facts['cancelledWith'];
  let current = run;
  for (let depth = 0; depth < MOST_ABOVE; depth += 1) {
    const cancelledBy = await ask?.findCanceller(current.runId);
    if (cancelledBy !== undefined) return { cancelledBy, cancelledWith };
    const above = current.parentRunId === null ? undefined : await journal.getLastRun(current.parentRunId);
    if (!above || !hasGoneAlong(current, endOfTree(above))) return { cancelledWith };
    cancelledWith ??= { runId: above.runId, hasEnded: !isCancelled(above) };
    current = above;
  }
  return { cancelledWith };
}

function isCancelled(run: RunRow): boolean {
  return run.status === 'cancelled' || readCancel(run)?.status === 'cancelled';
}

/** More runs above each other are not looked at. */
const MOST_ABOVE = 20;

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
    timeoutAt: toTimeoutAt(run),
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
  const { serialKey, readyAt, name, triggerId } = start;
  const [holder, queue] = await Promise.all([
    serialKey === null || readyAt !== null ? undefined : journal.queue.findHolder(serialKey),
    journal.queue.list({ name }, { limit: 1_000 }),
  ]);
  const line = queue.filter((other) => other.serialKey === serialKey && other.waitsFor === 'lock');
  const position = Math.max(
    0,
    line.findIndex((other) => other.triggerId === triggerId),
  );
  const inFront = holder ? await explainRun(await readFacts(holder, sources), sources) : undefined;
  const lock = serialKey === null ? null : toLock(serialKey, holder?.runId ?? null, line.length);
  const message = readyAt === null ? sayQueued(start, { lock, holder, position }) : sayTimed(start, toIso(readyAt));
  const dropping = `Drop the start with DELETE /api/workflows/${name}/queue/${triggerId}.`;
  const suggestion = holder ? `Look at what holds it up: svc why ${holder.runId}. ${dropping}` : dropping;
  const ids = holder ? { runId: holder.runId } : {};
  const code = readyAt === null ? 'queued_behind' : 'start_delayed';
  return {
    runId: null,
    triggerId,
    kind: 'workflow',
    name,
    status: 'queued',
    summary: message,
    reasons: [{ code, message, suggestion, ...ids }, ...(inFront?.reasons ?? [])],
    waitingFor: null,
    nextWakeAt: readyAt === null ? null : toIso(readyAt),
    timeoutAt: null,
    lease: null,
    lock,
    queuedBehind: readyAt === null ? { runId: holder?.runId ?? null, position } : null,
    approval: inFront?.approval ?? null,
    lastError: null,
    attempt: null,
    nextRetryAt: null,
    build: toBuild({ kind: 'workflow', name, codeHash: null, movedAt: null, startedAt: null, createdAt: 0 }, sources),
    suggestion,
  };
}

interface Place {
  lock: Why['lock'];
  holder: RunRow | undefined;
  position: number;
}

function sayQueued({ limit }: QueuedStart, { lock, holder, position }: Place): string {
  const before = position === 0 ? '' : ` ${position === 1 ? 'One start is' : `${position} starts are`} before it.`;
  const name = `"${lock?.name ?? ''}"${lock?.key == null ? '' : ` for "${lock.key}"`}`;
  if (!holder)
    return `The start waits in the queue: a place of ${name} is free, which the next look at the journal gives away.${before}`;
  if (limit === 1) {
    const key = lock?.key == null ? '' : ` "${lock.key}"`;
    return `The start waits in the queue: run ${holder.runId} has the lock${key} of "${lock?.name ?? ''}".${before}`;
  }
  return `The start waits in the queue: ${name} has ${limit} runs at once, the oldest of them ${holder.runId}.${before}`;
}

function sayTimed({ waitsFor, name }: QueuedStart, at: string): string {
  if (waitsFor === 'throttle') return `The start begins at ${at}: the throttle of "${name}" has no room before.`;
  if (waitsFor === 'debounce')
    return `The start begins at ${at}, unless another start of "${name}" comes before: the last one wins.`;
  return `The start is delayed: it begins at ${at}.`;
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
  // A step that failed, and went well afterwards, is not what a run that has completed is asked for.
  if (!lastFailure || run.status === 'completed') return null;
  const error = toRunError(lastFailure.error);
  return error && { code: error.code, message: error.message, step: lastFailure.stepId, at: toIso(lastFailure.at) };
}

type Built = Pick<RunRow, 'kind' | 'name' | 'codeHash' | 'movedAt' | 'startedAt' | 'createdAt'>;

function toBuild(run: Built, sources: WhySources): Why['build'] {
  const runningCodeHash = sources.findCodeHash(run) ?? null;
  const isKnown = run.codeHash !== null && runningCodeHash !== null;
  return {
    codeHash: run.codeHash,
    runningCodeHash,
    matches: isKnown ? run.codeHash === runningCodeHash : null,
    since: run.codeHash === null ? null : toIso(run.movedAt ?? run.startedAt ?? run.createdAt),
    version: sources.version,
  };
}
