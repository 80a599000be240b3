import type { Log } from '../../log.ts';
import { newRunId } from '../ids.ts';
import type { Journal } from '../journal.ts';
import type { CancelResult } from '../journal/ends.ts';
import type { RunRow } from '../journal/run.ts';
import { encodeError } from '../run/outcome.ts';
import type { Leave, Left } from '../run/driver.ts';
import { toText } from '../values/text.ts';
import type { LiveRuns } from './live-runs.ts';
import type { Publisher } from './publisher.ts';
import type { Signals } from './signals.ts';
import type { Suspects } from './suspects.ts';
import type { Watchers } from './watchers.ts';

/** How runs leave this process and come to their end. */
export interface Endings {
  /** A run has left memory: those who wait for it, and for what it held, go on. */
  left(run: RunRow, how: Leave, left: Left): void;
  /** Ends a run and the runs below it. Undefined: no such run. */
  cancel(runId: string, reason: Error): Promise<CancelResult | undefined>;
}

export interface EndingsOptions {
  journal: Journal;
  log: Log;
  live: LiveRuns;
  suspects: Suspects;
  publisher: Publisher;
  watchers: Watchers;
  signals: Signals;
}

export function createEndings(options: EndingsOptions): Endings {
  const { journal, log, live, suspects, publisher, watchers, signals } = options;

  /** A run is final: whoever waits for it looks again, or is handed the row. */
  const ended = (runId: string, parentRunId: string | null, row?: RunRow): void => {
    watchers.notify(runId, row);
    signals.ring('ended', runId);
    if (parentRunId !== null) signals.signal(parentRunId);
  };

  return {
    left(run, how, { row, promoted, reason }) {
      live.remove(run);
      suspects.pass(run.runId);
      if (how === 'dropped')
        log.warn('The run left this process.', { runId: run.runId, name: run.name, reason: toText(reason) });
      if (row) publisher.ended(row);
      if (how === 'ended') ended(run.runId, run.parentRunId, row);
      else watchers.notify(run.runId);
      if (promoted) signals.signal(promoted.runId);
    },
    async cancel(runId, reason) {
      const result = await journal.cancel(runId, encodeError(reason), newRunId);
      if (result?.outcome !== 'cancelled') return result;
      publisher.cancelled(result);
      for (const cancelled of result.cancelled) {
        live.get(cancelled)?.abandon(reason);
        ended(cancelled, null);
      }
      const parent = (await journal.getRun(runId).catch(() => undefined))?.parentRunId;
      if (parent) signals.signal(parent);
      for (const promoted of result.promoted) signals.signal(promoted.runId);
      return result;
    },
  };
}
