import type { Engine } from '../engine/engine.ts';
import type { HookFilter, Journal, RunRow } from '../engine/journal.ts';
import { isFinal } from '../engine/journal.ts';
import { decode } from '../engine/serialize.ts';
import type { Interrupt } from '../wires/events.ts';
import { toInterrupt } from './pauses.ts';
import type { KeptPause } from './pauses.ts';
import { listWaitingBelow } from './runs-below.ts';

/** What the journal knows of the calls of a turn that wait for a person. */
export interface RecordedPauses {
  /** Resolves once the run waits for these and that is recorded, or it has ended. */
  whenAsked(runId: string, approvalIds: readonly string[]): Promise<void>;
  /**
   * The calls a turn waits for once it does nothing but wait, other than those `known`. None: it has ended before, or
   * the signal has aborted. A turn that runs in another process is found to wait so.
   */
  next(runId: string, known: readonly string[], signal: AbortSignal): Promise<Interrupt[]>;
  /** The calls a turn has asked a person about, decided or not, in the order in which it asked. */
  listAll(runId: string): Promise<Interrupt[]>;
  /** A person is asked in the run, or in one below it. */
  isAsking(runId: string): Promise<boolean>;
}

export function createRecordedPauses({ journal, engine }: RecordedPausesOptions): RecordedPauses {
  const list = async (runId: string, filter: Pick<HookFilter, 'isPending'> = {}): Promise<Interrupt[]> => {
    const entries = await journal.hooks.listEntries({ kind: 'approval', runId, ...filter }, { limit: 200 });
    return entries.reverse().flatMap(({ hook }) => {
      const kept = decode(hook.detail ?? NOTHING) as Partial<KeptPause>;
      return kept.source === 'tool' ? toInterrupt(hook.token, kept as KeptPause) : [];
    });
  };
  return {
    listAll: (runId) => list(runId),
    async isAsking(runId) {
      for await (const id of listWaitingBelow(journal, runId)) {
        const asked = await journal.hooks.listEntries({ kind: 'approval', runId: id, isPending: true }, { limit: 1 });
        if (asked.length > 0) return true;
      }
      return false;
    },
    async whenAsked(runId, approvalIds) {
      for (let delay = 1; ; delay = Math.min(delay * 2, 100)) {
        const run = await journal.getRun(runId);
        const hooks = await Promise.all(approvalIds.map((id) => journal.hooks.find(id)));
        const isWaiting = run?.status === 'waiting' || hooks.some((hook) => hook?.verdict != null);
        if (hasEnded(run) || (isWaiting && !hooks.includes(undefined))) return;
        await new Promise((resolve) => setTimeout(resolve, delay));
      }
    },
    async next(runId, known, signal) {
      for (;;) {
        const change = engine.nextChange(runId, signal);
        const run = await journal.getRun(runId);
        if (hasEnded(run)) return [];
        const waits = run?.status === 'waiting' ? await list(runId, { isPending: true }) : [];
        if (signal.aborted) return [];
        if (waits.length > 0 && !waits.some(({ id }) => known.includes(id))) return waits;
        await change;
      }
    },
  };
}

export interface RecordedPausesOptions {
  journal: Pick<Journal, 'getRun' | 'hooks' | 'listRuns'>;
  engine: Pick<Engine, 'nextChange'>;
}

// --- internal ---

const NOTHING = '1[{}]';

function hasEnded(run: RunRow | undefined): boolean {
  return !run || isFinal(run.status);
}
