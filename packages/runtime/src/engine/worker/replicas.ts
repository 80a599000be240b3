import { runOutside } from '../context.ts';
import { SILENT } from '../doorbell.ts';
import type { Doorbell, RingKind } from '../doorbell.ts';
import type { Execution } from '../run/execution.ts';
import type { Journal } from '../journal.ts';
import { isFinal } from '../journal/run.ts';
import { decode } from '../serialize.ts';
import type { Watchers } from './watchers.ts';

/** What this process and the other replicas tell each other about runs. */
export interface Replicas {
  ring(kind: RingKind, runId: string): void;
  /** The run is due, or was signalled in the journal: by its execution, here or elsewhere, or by taking it up. */
  signal(runId: string): void;
  /** Hears no more; what is rung is still sent. */
  stop(): void;
}

export interface ReplicasOptions {
  doorbell: Doorbell | undefined;
  journal: Pick<Journal, 'getRun'>;
  live: ReadonlyMap<string, Execution>;
  watchers: Pick<Watchers, 'notify'>;
  /** Takes the run up; false: this process does not have it. */
  take(runId: string): Promise<boolean>;
  /** Takes up whatever there is. */
  claim(): Promise<void>;
}

export function createReplicas(options: ReplicasOptions): Replicas {
  const { doorbell = SILENT, journal, live, watchers, take } = options;
  let asking = 0;
  let claiming: Promise<void> | undefined;

  /** By name, or, when many become due together, whatever there is. */
  const takeDue = async (runId: string): Promise<void> => {
    if (asking >= MAX_ASKING) {
      claiming ??= options.claim().finally(() => (claiming = undefined));
      return claiming;
    }
    asking += 1;
    await take(runId).finally(() => (asking -= 1));
  };

  const onRing = (kind: RingKind, runId: string): void => {
    const execution = live.get(runId);
    if (kind === 'ended' || kind === 'written') watchers.notify(runId);
    // What fails here, the sweep does.
    if (kind === 'ended' && execution) leaveIfFinal(journal, execution).catch(() => {});
    if (kind === 'due' && execution) execution.poke();
    if (kind === 'due' && !execution) takeDue(runId).catch(() => {});
  };
  const stop = doorbell.listen(onRing);

  // Outside of any run: what sends a ring is no code of an author.
  const ring = (kind: RingKind, runId: string): void => runOutside(() => doorbell.ring(kind, runId));
  return {
    ring,
    signal(runId) {
      const execution = live.get(runId);
      if (execution) return execution.poke();
      void take(runId).then((taken) => taken || ring('due', runId));
    },
    stop,
  };
}

/** Ends the execution of a run that is final, with what ended it. False: it is not. */
export async function leaveIfFinal(journal: Pick<Journal, 'getRun'>, execution: Execution): Promise<boolean> {
  const run = await journal.getRun(execution.run.runId);
  if (!run || !isFinal(run.status)) return false;
  execution.abandon(run.error === null ? new Error(`The run is ${run.status}.`) : decode(run.error));
  return true;
}

// --- internal ---

/** So many runs are asked for by name at once. */
const MAX_ASKING = 20;
