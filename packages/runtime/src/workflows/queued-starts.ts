import { WITHHELD } from '../approvals/approval.ts';
import { isOwnRun } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { hiddenFrom, isHidden } from '../auth/visibility.ts';
import type { Hidden } from '../auth/visibility.ts';
import { heldOf } from '../engine/box-marks.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import type { QueuedStart } from '../engine/journal/queue.ts';
import type { RunStatus, RunTrigger } from '../engine/journal/run.ts';
import { startedByOf } from '../engine/started-by.ts';
import { toIdKey } from '../engine/worker/new-run.ts';
import { BoxError } from '../errors.ts';
import { toIso, toShownValue } from '../json-value.ts';
import { parseQueueCursor, toQueueCursor } from './queue-cursor.ts';
import { triggerNotFound } from './refusals.ts';

export interface QueueEntry {
  triggerId: string;
  position: number;
  input: unknown;
  trigger: RunTrigger;
  priority: number;
  waitsFor: QueuedStart['waitsFor'];
  /** The time it waits for. */
  readyAt: string | null;
  createdAt: string;
}

export interface QueuePage {
  limit: number;
  cursor?: string;
}

/** Who reads the queue. */
export interface QueueReader {
  hidden?: Hidden;
  /** A model: an input that a guardrail holds is withheld from it. */
  isModel?: boolean;
}

/** What has an id: a run, or a start that waits. */
export interface NamedStart {
  id: string;
  runId: string | null;
  triggerId: string | null;
  status: RunStatus;
}

/** What has become of a start that was queued. */
export interface QueuedReceipt {
  triggerId: string;
  workflowName: string;
  /** Null: it waits. */
  runId: string | null;
  status: RunStatus;
}

/** Starts that wait, and the outcome of them. Each throws where there is no workflow of that name. */
export interface QueuedStarts {
  /** Starts that wait for a place or a time, in the order they will begin, as far as that is known. */
  queue(
    name: string,
    page: QueuePage,
    reader?: QueueReader,
  ): Promise<{ items: QueueEntry[]; nextCursor: string | null }>;
  /** What was started with an id of its caller's. Throws `run_not_found`. */
  findById(name: string, id: string, hidden?: Hidden): Promise<NamedStart>;
  /** A start that waits or has waited, as its caller sees it. Throws `trigger_not_found`. */
  findQueued(name: string, triggerId: string, caller: Caller): Promise<QueuedReceipt>;
  /** Throws `trigger_not_found` when it waits no more. */
  dequeue(name: string, triggerId: string, hidden?: Hidden): Promise<void>;
}

export interface QueuedStartsOptions {
  journal: Journal;
  engine: Pick<Engine, 'dequeue'>;
  /** Throws where there is none. */
  find(name: string): unknown;
}

export function createQueuedStarts({ journal, engine, find }: QueuedStartsOptions): QueuedStarts {
  return {
    async queue(name, { limit, cursor }, { hidden, isModel = false } = {}) {
      find(name);
      const [before, after] = cursor === undefined ? [0] : parseQueueCursor(cursor);
      const page = await journal.queue.list({ name }, { limit: limit + 1, ...(after ? { after } : {}) });
      const starts = page.slice(0, limit).filter((start) => !isHidden(start, hidden));
      const items = starts.map((start, at) => {
        const { triggerId, trigger, priority, waitsFor, readyAt, createdAt } = start;
        return {
          triggerId,
          position: before + at,
          input: isModel && heldOf(start) !== undefined ? WITHHELD : toShownValue(start.input),
          trigger,
          priority,
          waitsFor,
          readyAt: readyAt === null ? null : toIso(readyAt),
          createdAt: toIso(createdAt),
        };
      });
      const last = page.length > limit ? page[limit - 1] : undefined;
      return { items, nextCursor: last === undefined ? null : toQueueCursor(before + items.length, last) };
    },
    async findById(name, id, hidden) {
      find(name);
      const startId = await journal.findStartId(toIdKey(name, id));
      const run = startId === undefined ? undefined : await journal.getLastRun(startId);
      const start = run || startId === undefined ? undefined : await journal.queue.find(startId);
      const found = run ?? (start && ('run' in start ? start.run : start.queued));
      if (!found || isHidden(found, hidden))
        throw new BoxError('run_not_found', `No run of workflow "${name}" has the id "${id}".`);
      const { triggerId } = found;
      return 'runId' in found
        ? { id, runId: found.runId, triggerId, status: found.status }
        : { id, runId: null, triggerId, status: 'queued' };
    },
    async findQueued(name, triggerId, caller) {
      find(name);
      const start = await journal.queue.find(triggerId);
      const found = start && ('run' in start ? start.run : start.queued);
      const isShown = found?.name === name && !isHidden(found, hiddenFrom(caller));
      if (!isShown || !isOwnRun(caller, startedByOf(found))) throw triggerNotFound(name, triggerId);
      return 'runId' in found
        ? { triggerId, workflowName: name, runId: found.runId, status: found.status }
        : { triggerId, workflowName: name, runId: null, status: 'queued' };
    },
    async dequeue(name, triggerId, hidden) {
      find(name);
      const found = await journal.queue.find(triggerId);
      const isOwn = found && 'queued' in found && found.queued.name === name && !isHidden(found.queued, hidden);
      if (!isOwn || !(await engine.dequeue(triggerId))) throw triggerNotFound(name, triggerId);
    },
  };
}
