import type { Journal } from '../journal.ts';
import type { CreateResult, NewRun } from '../journal/starts.ts';
import { parentCancelled } from '../run/outcome.ts';
import type { Endings } from './endings.ts';
import { hasOutlived } from './outlived.ts';

export interface OrphanedStartOptions {
  journal: Journal;
  endings: Pick<Endings, 'cancel'>;
}

/**
 * A parent cancelled before its child was stored did not reach it; one cancelled after reaches it itself. The answer
 * stays a start: whoever asked is gone. False: there is nothing to take back.
 */
export async function withdrawOrphan(
  options: OrphanedStartOptions,
  { parentRunId, closePolicy = null }: Pick<NewRun, 'parentRunId' | 'closePolicy'>,
  result: CreateResult,
): Promise<boolean> {
  const { journal, endings } = options;
  const parent = parentRunId === null ? undefined : await journal.getRun(parentRunId);
  // Deleted, it had ended, and it was not by itself: it waits for its starts.
  if (parentRunId === null || (parent && !hasOutlived(closePolicy, parent)) || closePolicy === 'abandon') return false;
  // One that an id of its own has found may be another's.
  if ('run' in result && result.run.parentRunId === parentRunId)
    await endings.cancel(result.run.runId, parentCancelled());
  else if ('triggerId' in result) await withdrawQueued(options, parentRunId, result.triggerId);
  return true;
}

// --- internal ---

async function withdrawQueued(
  { journal, endings }: OrphanedStartOptions,
  parentRunId: string,
  triggerId: string,
): Promise<void> {
  const found = await journal.queue.find(triggerId);
  if (found && 'run' in found && found.run.parentRunId === parentRunId)
    await endings.cancel(found.run.runId, parentCancelled());
  else if (found && 'queued' in found && found.queued.parentRunId === parentRunId)
    await journal.queue.remove(triggerId);
}
