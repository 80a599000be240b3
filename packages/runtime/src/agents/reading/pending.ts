import type { Engine } from '../../engine/engine.ts';
import type { Journal } from '../../engine/journal.ts';
import type { JournalRecord } from '../../engine/journal/record.ts';
import type { RunRow } from '../../engine/journal/run.ts';
import { isFinal } from '../../engine/journal/run.ts';
import type { Interrupt } from '../events/turn-events.ts';
import { isTurnBlocked, turnBlocked } from '../events/turn-errors.ts';
import { findFirstWait } from './first-wait.ts';
import type { TurnTimes, Span } from './first-wait.ts';
import { listWaitingBelow } from './runs-below.ts';
import { listTasks } from './task-runs.ts';
import type { TaskRun } from './task-runs.ts';
import { createWaitingCalls } from './waiting-calls.ts';
import type { Waiting } from './waiting-calls.ts';

/** What the journal knows of the calls that wait for an approval, of a turn and of the sub-agents at work for it. */
export interface PendingApprovals {
  /** Resolves once the run waits for these and that is recorded, or it has ended. */
  whenRecorded(runId: string, approvalIds: readonly string[]): Promise<void>;
  /**
   * The calls a turn waits for once it does nothing but wait, other than those `known`. None: it has ended before, or
   * the signal has aborted. A turn that runs in another process is found to wait so. Throws `turn_blocked`.
   */
  next(runId: string, known: readonly string[], signal: AbortSignal): Promise<Interrupt[]>;
  /** The calls a turn waited for when it first did nothing else, decided or not. */
  listFirst(runId: string): Promise<Interrupt[]>;
  /** The approvals that wait now. */
  listPending(runId: string): Promise<string[]>;
  /** A call of the run, or of one below it, waits for an approval. */
  hasAny(runId: string): Promise<boolean>;
  /** A call of a sub-agent has waited for an approval, decided or not. */
  hadApprovalBelow(runId: string): Promise<boolean>;
}

export function createPendingApprovals({ journal, engine }: PendingApprovalsOptions): PendingApprovals {
  const { listEntries, withArguments } = createWaitingCalls(journal);

  /** Undefined: the turn does something else, too. */
  const listAtRest = async (run: RunRow | undefined): Promise<Waiting[] | undefined> => {
    if (run?.status !== 'waiting') return undefined;
    const own = (await listEntries(run.runId, { isPending: true })).map(({ interrupt }) => interrupt);
    const tasks = await listTasks(journal, run.runId);
    const open = tasks.filter(isOpen);
    const below = await Promise.all(
      open.map(async (task) => (await listAtRest(task.run))?.map((one) => toTurnAbove(task, one))),
    );
    const all = [...own, ...below.flatMap((waits) => waits ?? [])];
    if (all.length === 0 || below.includes(undefined)) return undefined;
    const ended = tasks.length - open.length;
    return ended > 0 && (await countAnswered(run.runId)) < ended ? undefined : all;
  };

  /** How many of its sub-agents' answers a turn has taken. */
  const countAnswered = async (runId: string): Promise<number> => {
    const records = await journal.getRecords(runId);
    return records.filter(({ kind, stepId }) => kind === 'child' && stepId.startsWith('wait ')).length;
  };

  const readTimes = async (run: RunRow): Promise<TurnTimes> => {
    const to = run.endedAt ?? Infinity;
    const [own, records, tasks] = await Promise.all([
      listEntries(run.runId),
      journal.getRecords(run.runId),
      listTasks(journal, run.runId),
    ]);
    return {
      from: run.createdAt,
      to,
      approvals: own.map(({ entry, interrupt }) => ({
        interrupt,
        from: entry.hook.createdAt,
        to: entry.first?.at ?? to,
      })),
      tools: records.flatMap(toToolSpan),
      tasks: await Promise.all(tasks.map(async (task) => toTaskTimes(task, await readTimes(task.run)))),
    };
  };

  const listPending = async (runId: string): Promise<string[]> => {
    const own = await listEntries(runId, { isPending: true });
    const open = (await listTasks(journal, runId)).filter(isOpen);
    const below = await Promise.all(open.map(({ run }) => listPending(run.runId)));
    return [...own.map(({ interrupt }) => interrupt.id), ...below.flat()];
  };

  const hadApprovalBelow = async (runId: string): Promise<boolean> => {
    for (const { run } of await listTasks(journal, runId)) {
      const asked = await journal.hooks.listBriefEntries({ kind: 'approval', runId: run.runId }, { limit: 1 });
      if (asked.length > 0 || (await hadApprovalBelow(run.runId))) return true;
    }
    return false;
  };

  return {
    listPending,
    hadApprovalBelow,
    async listFirst(runId) {
      const run = await journal.getRun(runId);
      return run ? withArguments(findFirstWait(await readTimes(run))) : [];
    },
    async hasAny(runId) {
      for await (const id of listWaitingBelow(journal, runId)) {
        const filter = { kind: 'approval', runId: id, isPending: true } as const;
        const asked = await journal.hooks.listBriefEntries(filter, { limit: 1 });
        if (asked.length > 0) return true;
      }
      return false;
    },
    async whenRecorded(runId, approvalIds) {
      for (let delay = 1; ; delay = Math.min(delay * 2, 100)) {
        const run = await journal.getRun(runId);
        const hooks = await Promise.all(approvalIds.map((id) => journal.hooks.find(id)));
        const isWaiting = run?.status === 'waiting' || hooks.some((hook) => hook?.verdict != null);
        if (hasEnded(run) || (run && isTurnBlocked(run)) || (isWaiting && !hooks.includes(undefined))) return;
        await new Promise((resolve) => setTimeout(resolve, delay));
      }
    },
    async next(runId, known, signal) {
      let hasTasks = false;
      for (;;) {
        const look = new AbortController();
        try {
          const change = engine.nextChange(runId, AbortSignal.any([signal, look.signal]));
          const run = await journal.getRun(runId);
          if (hasEnded(run)) return [];
          if (run && isTurnBlocked(run)) throw turnBlocked(run);
          const waits = (await listAtRest(run)) ?? [];
          if (signal.aborted) return [];
          if (waits.length > 0 && !waits.some(({ id }) => known.includes(id))) return withArguments(waits);
          // What its sub-agents do changes nothing of its own.
          hasTasks ||= (await listTasks(journal, runId)).length > 0;
          const timer = hasTasks ? setTimeout(() => look.abort(), BELOW_MS) : undefined;
          await change;
          clearTimeout(timer);
        } finally {
          look.abort();
        }
      }
    },
  };
}

export interface PendingApprovalsOptions {
  journal: Pick<Journal, 'getRun' | 'getRecords' | 'hooks' | 'listRuns'>;
  engine: Pick<Engine, 'nextChange'>;
}

// --- internal ---

/** Between two looks at the runs below one that waits. */
const BELOW_MS = 250;

function hasEnded(run: RunRow | undefined): boolean {
  return !run || isFinal(run.status);
}

function isOpen({ run }: TaskRun): boolean {
  return !isFinal(run.status);
}

/** As the turn above has it: a client knows the call that handed on the task, and no call or step within it. */
function toTurnAbove({ run, callId }: TaskRun, { step: _own, ...interrupt }: Waiting): Waiting {
  return { agent: run.name, ...interrupt, callId };
}

function toToolSpan({ kind, startedAt: from, at: to }: JournalRecord): Span[] {
  return kind === 'tool' ? [{ from, to }] : [];
}

function toTaskTimes(task: TaskRun, turn: TurnTimes): TurnTimes {
  return {
    ...turn,
    approvals: turn.approvals.map((one) => ({ ...one, interrupt: toTurnAbove(task, one.interrupt) })),
    tasks: turn.tasks.map((below) => toTaskTimes(task, below)),
  };
}
