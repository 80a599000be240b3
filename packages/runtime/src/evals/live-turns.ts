import { createHash } from 'node:crypto';
import type { RunRow } from '../engine/journal/run.ts';
import type { Log } from '../log.ts';
import type { Suite } from './suite.ts';

/** Turns that clients have asked for, once they have ended: a share of them is scored. */
export interface LiveTurns {
  /** Returns at once, and never throws. */
  ended(run: Pick<RunRow, 'runId' | 'kind' | 'name' | 'trigger' | 'status'>): void;
  close(): Promise<void>;
}

export interface LiveTurnsOptions {
  /** The suites that score live turns. */
  listSuites(): Promise<readonly Pick<Suite, 'id' | 'online'>[]>;
  /** Begins to score one: once, however often it is asked for. */
  begin(suiteId: string, runId: string): Promise<void>;
  log: Log;
  /** Nothing has been stored, so there are no suites. */
  isBlank(): boolean;
  now(): number;
}

/** Turns that wait to be looked at; those beyond are not scored. */
const MOST_WAITING = 1_000;
/** How old what is known of the suites may be. */
const KNOWN_MS = 5_000;

export function createLiveTurns({ listSuites, begin, log, isBlank, now }: LiveTurnsOptions): LiveTurns {
  const waiting: { runId: string; agent: string }[] = [];
  let known: { suites: readonly Pick<Suite, 'id' | 'online'>[]; at: number } | undefined;
  let working: Promise<void> | undefined;
  let isClosed = false;
  let lost = 0;

  const suites = async (): Promise<readonly Pick<Suite, 'id' | 'online'>[]> => {
    if (!known || now() - known.at > KNOWN_MS) known = { suites: await listSuites(), at: now() };
    return known.suites;
  };
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { runId, agent } = next;
      try {
        for (const { id, online } of await suites())
          if (online?.agent === agent && isChosen(id, runId, online.share)) await begin(id, runId);
      } catch (error) {
        log.warn('A turn is not scored.', { runId, error: error instanceof Error ? error.message : String(error) });
      }
    }
    if (lost > 0) log.warn(`${lost} turns are not scored: too many ended at once.`, { count: lost });
    lost = 0;
    working = undefined;
  };

  return {
    ended({ runId, kind, name, trigger, status }) {
      if (kind !== 'agent' || trigger !== 'chat' || status !== 'completed' || isClosed || isBlank()) return;
      if (waiting.length >= MOST_WAITING) return void lost++;
      waiting.push({ runId, agent: name });
      working ??= work();
    },
    async close() {
      isClosed = true;
      waiting.length = 0;
      await working;
    },
  };
}

// --- internal ---

/** The same for the same turn, wherever it is asked. */
function isChosen(suiteId: string, runId: string, share: number): boolean {
  const drawn = createHash('sha256').update(`${suiteId} ${runId}`).digest().readUInt32BE();
  return drawn / 2 ** 32 < share;
}
