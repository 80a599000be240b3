import type { Approval } from '../approvals/approval.ts';
import type { Approvals } from '../approvals/approvals.ts';
import { historyOf } from '../engine/call.ts';
import type { CallRecord } from '../engine/call.ts';
import type { Engine } from '../engine/engine.ts';
import type { RunningStep } from '../engine/run/step-attempts.ts';
import type { Journal } from '../engine/journal.ts';
import type { HookEntry } from '../engine/journal/hooks.ts';
import type { QueuedStart } from '../engine/journal/queue.ts';
import type { JournalRecord } from '../engine/journal/record.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { isFinal } from '../engine/journal/run.ts';
import { decode } from '../engine/serialize.ts';
import { isSuspect, readMark } from '../engine/worker/suspects.ts';
import type { GateState } from '../gate/gate.ts';

/** What is asked about a run. */
export interface WhySources {
  journal: Journal;
  engine: Pick<Engine, 'armed' | 'clock' | 'runningSteps'>;
  approvals: Pick<Approvals, 'list'>;
  gate(): GateState;
  /** Of the code there is now. Undefined: it does not load. */
  findCodeHash(run: Pick<RunRow, 'kind' | 'name'>): string | undefined;
  /** Of the box. */
  version: string;
}

/** A step whose last attempt failed, and that is tried again. */
export interface Retry {
  stepId: string;
  call: number;
  /** The one that failed. */
  attempt: number;
  error: string | null;
  /** When the next one is due. */
  at: number;
}

/** All that is known of a run at one moment. */
export interface Facts {
  run: RunRow;
  now: number;
  /** This process has it. */
  isHere: boolean;
  isLeaseOver: boolean;
  /** Steps under way; undefined: another process has the run, or none. */
  running: RunningStep[] | undefined;
  retry: Retry | undefined;
  /** The last failed attempt of the run. */
  lastFailure: JournalRecord | undefined;
  /** Pending, oldest first. */
  approvals: Approval[];
  /** Open hooks and webhooks without a resume. */
  hooks: HookEntry[];
  lock: { name: string; key: string | null; heldByRunId: string | null; waiting: number } | null;
  /** What the process that died at this position was about to run. */
  suspects: string[];
  /** The run it waits for. */
  child: RunRow | QueuedStart | undefined;
  /** Its code is what is served, or none is. */
  isOnNewest: boolean;
  /** A newer run that repeats it. */
  retriedBy: string | undefined;
  /** Who cancelled it. Absent: that is not known. */
  cancelledBy?: string | undefined;
  /** The run above that it has gone with, as that was cancelled or, `hasEnded`, has ended otherwise. */
  cancelledWith?: { runId: string; hasEnded: boolean } | undefined;
}

export async function readFacts(run: RunRow, sources: WhySources): Promise<Facts> {
  const { journal, engine } = sources;
  const isOver = isFinal(run.status);
  const [records, approvals, hooks, lock, child, retries] = await Promise.all([
    run.seq > 0 ? journal.getRecords(run.runId) : [],
    isOver ? [] : listApprovals(run, sources),
    isOver ? [] : listHooks(run, journal),
    isOver || run.serialKey === null ? null : readLock(run, run.serialKey, journal),
    isOver ? undefined : findChild(run, journal),
    isOver ? journal.listRuns({ retryOf: run.runId }, { limit: 1 }) : [],
  ]);
  const now = engine.clock.now();
  const running = engine.runningSteps(run.runId);
  return {
    run,
    now,
    isHere: running !== undefined,
    isLeaseOver: run.owner !== null && run.leaseUntil !== null && run.leaseUntil < now,
    running,
    retry: isOver ? undefined : findRetry(records, running ?? []),
    lastFailure: records.findLast(({ event }) => event === 'failed' || event === 'retry'),
    approvals,
    hooks,
    lock,
    suspects: isSuspect(run) ? (readMark(run)?.steps ?? []) : [],
    child,
    isOnNewest: isOnNewest(run, sources),
    retriedBy: retries[0]?.runId,
  };
}

// --- internal ---

function isOnNewest(run: RunRow, { findCodeHash }: WhySources): boolean {
  const newest = findCodeHash(run);
  return newest === undefined || run.codeHash === null || run.codeHash === newest;
}

const MAX_HOOKS = 50;

async function listApprovals(run: RunRow, { approvals }: WhySources): Promise<Approval[]> {
  const { items } = await approvals.list({ status: 'pending', runId: run.runId }, { limit: MAX_HOOKS });
  return items.reverse();
}

async function listHooks({ runId }: RunRow, { hooks }: Journal): Promise<HookEntry[]> {
  const kinds = ['hook', 'webhook'] as const;
  const lists = kinds.map((kind) => hooks.listEntries({ kind, runId, isPending: true }, { limit: MAX_HOOKS }));
  return (await Promise.all(lists)).flat();
}

async function readLock({ runId, name }: RunRow, serialKey: string, { queue }: Journal): Promise<Facts['lock']> {
  const starts = await queue.list({ name }, { limit: 1_000 });
  const waiting = starts.filter((start) => start.serialKey === serialKey).length;
  const colon = serialKey.indexOf(':');
  const key = colon === -1 ? null : serialKey.slice(colon + 1);
  return { name: colon === -1 ? serialKey : serialKey.slice(0, colon), key, heldByRunId: runId, waiting };
}

async function findChild(run: RunRow, { getRun, queue }: Journal): Promise<Facts['child']> {
  const { type, runId, triggerId } = (run.waitingFor === null ? {} : JSON.parse(run.waitingFor)) as Record<
    string,
    string
  >;
  if (type !== 'child') return undefined;
  if (runId !== undefined) return getRun(runId);
  const found = triggerId === undefined ? undefined : await queue.find(triggerId);
  return found && ('run' in found ? found.run : found.queued);
}

/** Of several, the one that is due first. */
function findRetry(records: readonly JournalRecord[], running: readonly RunningStep[]): Retry | undefined {
  const retries = [...historyOf(records)].flatMap(([call, { answer, retries: failed }]): Retry[] => {
    const last: CallRecord | undefined = failed.at(-1);
    if (answer || !last?.output || running.some((step) => step.call === call)) return [];
    const { stepId, attempt, error } = last;
    return [{ stepId, call, attempt, error, at: decode(last.output) as number }];
  });
  return retries.sort((a, b) => a.at - b.at)[0];
}
