import type { Body } from '../body.ts';
import type { Journal } from '../journal.ts';
import type { ResumeOptions, ResumeResult } from '../journal/hooks.ts';
import { encodeGiven } from '../values/given.ts';
import type { Backlog } from './backlog.ts';
import { waitsForCode } from './code-waits.ts';
import type { LiveRuns } from './live-runs.ts';
import type { ResolvedRun } from './loading.ts';
import type { Publisher } from './publisher.ts';
import type { Signals } from './signals.ts';

/** What is done to runs, and to starts that wait, from outside. */
export interface Controls {
  /** Drops a queued start; whoever waits for it is notified. False: there is none (any more). */
  dequeue(triggerId: string): Promise<boolean>;
  /** Continues a run that is blocked, or waits for code that does not load, on the code there is now. False: it does neither. */
  unblock(runId: string): Promise<boolean>;
  /** Begins no further step of the run, and lets it rest once those under way are over. False: no such run, or it is final. */
  pause(runId: string): Promise<boolean>;
  /** The run goes on. False: it is not paused. */
  unpause(runId: string): Promise<boolean>;
  resumeHook(token: string, payload: unknown, options?: ResumeOptions): Promise<ResumeResult | undefined>;
}

export interface ControlsOptions {
  journal: Journal;
  resolve(run: ResolvedRun): Promise<Body>;
  live: LiveRuns;
  publisher: Publisher;
  signals: Signals;
  backlog: Backlog;
}

export function createControls(options: ControlsOptions): Controls {
  const { journal, resolve, live, publisher, signals, backlog } = options;
  return {
    async dequeue(triggerId) {
      const found = await journal.queue.find(triggerId);
      if (!found || !('queued' in found) || !(await journal.queue.remove(triggerId))) return false;
      if (found.queued.parentRunId !== null) signals.signal(found.queued.parentRunId);
      return true;
    },
    async unblock(runId) {
      const run = await journal.getRun(runId);
      if (!run || !(run.status === 'blocked' || waitsForCode(run))) return false;
      const { codeHash } = await resolve({ ...run, codeHash: null });
      if (!(await journal.unblock(runId, codeHash))) return false;
      publisher.run('run.resumed', run, 'queued');
      signals.signal(runId);
      return true;
    },
    async pause(runId) {
      if (!(await journal.pause(runId))) return false;
      // Where another process has the run, its next sweep finds it.
      live.get(runId)?.pause();
      return true;
    },
    async unpause(runId) {
      if (!(await journal.unpause(runId))) return false;
      live.get(runId)?.unpause();
      signals.signal(runId);
      return true;
    },
    async resumeHook(token, payload, given) {
      const text = encodeGiven(payload, 'payload');
      const few = await journal.hooks.resume(token, text, { ...given, most: backlog.mostOf(token) });
      const result =
        few?.outcome === 'full' && !(await backlog.isFull(token))
          ? await journal.hooks.resume(token, text, given)
          : few;
      publisher.decided(result, given);
      if (result?.outcome !== 'resumed') return result;
      const { runId } = result.hook;
      backlog.saw(token, runId);
      signals.signal(runId);
      return result;
    },
  };
}
