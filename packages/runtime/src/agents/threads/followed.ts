import type { RunRow } from '../../engine/journal/run.ts';
import type { Agents } from '../agents.ts';
import { flatten } from '../events/turn-events.ts';
import type { FinishReason, TurnEvent } from '../events/turn-events.ts';
import type { TurnFiles } from '../files/turn-files.ts';
import type { RunningTurn } from '../reading/running-turn.ts';
import type { ConversationMessage } from '../turn/input.ts';
import type { SessionStore } from '../turn/session-store.ts';
import { isAsked, listOpenCalls, viewRest } from './view.ts';
import type { SentMessage, ThreadView } from './view.ts';

/** A turn that was under way when the request came, which decided what it waited for. */
export interface Followed {
  /** The thread once the turn has ended so. */
  readEnd(reason: FinishReason): Promise<ThreadEnd>;
  /** Waits for the end of the turn, and asks the agent the rest: for a client that does not read on. */
  askAlone(): Promise<void>;
}

export interface ThreadEnd {
  messages: ConversationMessage[];
  /** Calls the client is to run. */
  openCalls: string[];
  /**
   * Asks the agent, in a turn of its own, what the request says beside its decisions. Once: that turn, ever after.
   * Undefined: it says nothing more, or the agent is not to be asked now.
   */
  ask?: () => Promise<RunningTurn>;
}

export interface FollowedOptions {
  agents: Pick<Agents, 'follow' | 'readOpenTurn'>;
  sessions: Pick<SessionStore, 'read'>;
  files: Pick<TurnFiles, 'align' | 'show'>;
}

export interface FollowedTurn {
  run: RunRow;
  /** Of the request. */
  messages: readonly SentMessage[];
  ask(view: ThreadView): Promise<RunningTurn>;
}

export function createFollowed({ agents, sessions, files }: FollowedOptions, turn: FollowedTurn): Followed {
  const { run } = turn;
  let asked: Promise<RunningTurn> | undefined;
  const readMessages = async (reason: FinishReason): Promise<ConversationMessage[]> =>
    reason === 'interrupt' ? agents.readOpenTurn(run) : (await sessions.read(run.sessionId ?? '')).messages;

  const readEnd = async (reason: FinishReason): Promise<ThreadEnd> => {
    const sessionId = run.sessionId ?? '';
    const kept = await readMessages(reason);
    const rest = viewRest(kept, await files.align(sessionId, kept, turn.messages));
    const openCalls = listOpenCalls([...kept, ...rest.added]);
    const messages = await files.show(sessionId, kept);
    if (!isOver(reason) || openCalls.length > 0 || !isAsked(rest)) return { messages, openCalls };
    return { messages, openCalls, ask: () => (asked ??= turn.ask(rest)) };
  };

  return {
    readEnd,
    async askAlone() {
      const { events } = await agents.follow(run);
      let end: TurnEvent | undefined;
      for await (const event of flatten(events)) end = event;
      if (end?.type !== 'finish' || !isOver(end.reason)) return;
      const { ask } = await readEnd(end.reason);
      (await ask?.())?.leave();
    },
  };
}

// --- internal ---

function isOver(reason: FinishReason): boolean {
  return reason !== 'interrupt' && reason !== 'cancelled';
}
