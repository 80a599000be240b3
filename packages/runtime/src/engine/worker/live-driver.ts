import type { AroundStep } from '../body.ts';
import type { StoreClock } from '../clock.ts';
import type { Ambient } from '../handle.ts';
import type { Journal } from '../journal.ts';
import type { RunRow } from '../journal/run.ts';
import type { Limits } from '../limits.ts';
import { persist } from '../persist.ts';
import type { Driver } from '../run/driver.ts';
import { createTurns } from '../run/turns.ts';
import type { Endings } from './endings.ts';
import type { Publisher } from './publisher.ts';
import type { Signals } from './signals.ts';
import type { Suspects } from './suspects.ts';
import type { Watchers } from './watchers.ts';

export interface LiveDriverOptions {
  journal: Journal;
  clock: StoreClock;
  limits: Limits;
  ambient: Ambient;
  leaseMs: number;
  around: AroundStep | undefined;
  suspects: Suspects;
  publisher: Publisher;
  watchers: Watchers;
  signals: Signals;
  endings: Endings;
}

/** The driver of all the runs of a process: they write to its journal, and their steps have effects. */
export function createLiveDriver(options: LiveDriverOptions): Driver {
  const { journal, leaseMs, around, suspects, publisher, watchers, signals, endings } = options;
  return {
    clock: options.clock,
    turns: createTurns(),
    limits: options.limits,
    ambient: options.ambient,
    leaseMs,
    append: (entry) => journal.append(entry),
    publish: (entry, result, run) => publisher.appended(entry, result, run),
    appended({ runId, records, patch }) {
      if (!suspects.isIdle && (records.length > 0 || patch.status === 'waiting')) suspects.pass(runId);
    },
    mark: (runId, epoch, steps) => persist(() => journal.mark(runId, epoch, JSON.stringify({ steps })), leaseMs),
    async writeChunks(runId, epoch, chunks) {
      // Repeated even when the first time may have been stored: a frame twice is what a repeated step gives too.
      const last = await persist(() => journal.chunks.write(runId, epoch, chunks), leaseMs);
      watchers.notify(runId);
      signals.ring('written', runId);
      return last;
    },
    listEvents: (runId, waits) => persist(() => journal.hooks.listEvents(runId, waits), leaseMs),
    async resumeHook(...given) {
      const result = await persist(() => journal.hooks.resume(...given), leaseMs);
      publisher.decided(result, given[2]);
      return result;
    },
    findRun: (child) => persist(() => findChild(journal, child), leaseMs),
    attempt: around ?? ((_, run) => run()),
    left: (run, how, left) => endings.left(run, how, left),
  };
}

// --- internal ---

async function findChild(
  journal: Journal,
  child: { runId: string } | { triggerId: string },
): Promise<RunRow | undefined> {
  if ('runId' in child) return journal.getRun(child.runId);
  const found = await journal.queue.find(child.triggerId);
  // A start that still waits in the queue is not over; its run will signal.
  return found && ('run' in found ? found.run : ({ status: 'queued' } as RunRow));
}
