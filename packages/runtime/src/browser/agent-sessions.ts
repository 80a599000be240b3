import type { Page } from 'playwright-core';
import { real } from '../engine/real.ts';
import { BoxError } from '../errors.ts';
import type { BrowserSession } from './session.ts';
import type { BrowserLimits } from './settings.ts';

/** The sessions of turns: the tools of one turn share one, which no other turn sees. */
export interface AgentSessions {
  /**
   * Works on the page that the turn has open; its calls take turns. Throws `browser_session_ended` where it has none and
   * `opens` is not set, and what opening one does.
   */
  use<T>(turn: TurnUse, work: (page: Page) => Promise<T>): Promise<T>;
  /** Closes the session of a turn. False: it had none. */
  close(runId: string, why?: string): Promise<boolean>;
}

export interface TurnUse {
  runId: string;
  /** Of the call: when it aborts, the session is closed. */
  signal: AbortSignal;
  /** A session is opened where the turn has none. */
  opens?: boolean;
}

export interface AgentSessionsOptions {
  open(signal: AbortSignal): Promise<BrowserSession>;
  limits(): Promise<BrowserLimits>;
}

export function createAgentSessions({ open, limits }: AgentSessionsOptions): AgentSessions {
  const turns = new Map<string, Turn>();

  const begin = async (runId: string): Promise<Turn> => {
    const { idleSeconds } = await limits();
    const session = await open(new AbortController().signal);
    const turn: Turn = { session, idleMs: idleSeconds * 1_000, idle: undefined };
    // Of a turn that went on in another process no one here sees the end.
    if (turns.size >= MOST_ENDED) for (const [id, { session: old }] of turns) if (old.ended()) turns.delete(id);
    turns.set(runId, turn);
    return turn;
  };
  const useNow = async <T>({ runId, signal, opens }: TurnUse, work: (page: Page) => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    const known = turns.get(runId);
    const end = known?.session.ended();
    if ((!known || end) && !opens) throw end ?? new BoxError('browser_session_ended', 'No page is open.');
    const turn = known && !end ? known : await begin(runId);
    const { session } = turn;
    real.clearTimeout(turn.idle);
    const onAbort = (): void => void session.close('its call was cancelled, or had its time');
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      return await session.race(work(session.page()));
    } finally {
      signal.removeEventListener('abort', onAbort);
      turn.idle = real.setTimeout(
        () => void session.close(`no tool has used it for ${turn.idleMs / 1_000} s`),
        turn.idleMs,
      );
      turn.idle.unref();
    }
  };
  const queues = new Map<string, Promise<unknown>>();
  return {
    async use(turn, work) {
      const { runId } = turn;
      const mine = (queues.get(runId) ?? Promise.resolve()).then(() => useNow(turn, work));
      const done = mine
        .catch(() => {})
        .then(() => {
          if (queues.get(runId) === done) queues.delete(runId);
        });
      queues.set(runId, done);
      return mine;
    },
    async close(runId, why) {
      const turn = turns.get(runId);
      turns.delete(runId);
      if (!turn) return false;
      real.clearTimeout(turn.idle);
      const wasOpen = turn.session.ended() === undefined;
      await turn.session.close(why);
      return wasOpen;
    },
  };
}

// --- internal ---

const MOST_ENDED = 500;

interface Turn {
  session: BrowserSession;
  idleMs: number;
  idle: ReturnType<typeof real.setTimeout> | undefined;
}
