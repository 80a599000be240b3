import type { Caller } from '../../auth/caller.ts';
import type { RunRow } from '../../engine/journal/run.ts';
import type { Agents } from '../agents.ts';
import type { TurnFiles } from '../files/turn-files.ts';
import type { FinishReason } from '../events/turn-events.ts';
import type { RunningTurn } from '../reading/running-turn.ts';
import type { ConversationMessage, TurnKey } from '../turn/input.ts';
import type { SessionPlace, SessionStore } from '../turn/session-store.ts';
import type { OpenConversation } from './open-turns.ts';
import { isMessageOf } from '../turn/ids.ts';
import { ownerFor } from './owner.ts';
import { viewThread } from './view.ts';
import type { SentMessage } from './view.ts';

/** Threads of a client that has lost its copy: the page was loaded again, or it is another device. */
export interface AttachedThreads {
  /** What the thread has, without what a turn that has not ended makes. */
  read(thread: AskedThread): Promise<ConversationMessage[]>;
  /** The turn that has not ended, from its beginning. Undefined: there is none. */
  follow(thread: AskedThread): Promise<AttachedTurn | undefined>;
  /**
   * The same for a client whose copy of the thread says nothing new: it has lost the stream of that turn. Undefined: it
   * says something, or there is no such turn.
   */
  rejoin(thread: AskedThread, sent: readonly SentMessage[]): Promise<AttachedTurn | undefined>;
  /**
   * The turn that was begun under this key, while it goes on: for a client that asks again because it has lost the answer.
   * Undefined: there is none, or it has ended, or waits.
   */
  followKeyed(thread: AskedThread, key: TurnKey): Promise<AttachedTurn | undefined>;
  /** Cancels that turn. False: there is none. */
  stop(thread: AskedThread): Promise<boolean>;
}

export interface AskedThread {
  agent: string;
  /** What the client calls it. */
  name: string;
  caller: Caller;
}

export interface AttachedTurn extends OpenConversation {
  /** From what is made now on, and what its last model call has said before. */
  turn: RunningTurn;
  /** What the turn has made, once it has ended so. */
  readEnd(reason: FinishReason): Promise<ConversationMessage[]>;
}

export interface AttachedOptions {
  agents: Pick<Agents, 'findOpenTurn' | 'findRepeat' | 'follow' | 'splitOpenTurn'>;
  sessions: Pick<SessionStore, 'idOf' | 'read' | 'findOwner'>;
  files: Pick<TurnFiles, 'align' | 'show'>;
  /** Ends a turn for this caller. False: the run has ended before. */
  cancel(runId: string, caller: Caller): Promise<boolean>;
}

export function createAttachedThreads({ agents, sessions, files, cancel }: AttachedOptions): AttachedThreads {
  const find = async (thread: AskedThread): Promise<FoundThread> => {
    const { agent, name } = thread;
    const place = { agent, name, owner: await ownerFor(sessions, thread) };
    return { place, open: await agents.findOpenTurn(place) };
  };
  const readStored = async (place: SessionPlace): Promise<ConversationMessage[]> =>
    (await sessions.read(sessions.idOf(place))).messages;

  const attach = async (
    { place, open }: FoundThread,
    how: { countsAll: boolean } = { countsAll: false },
  ): Promise<AttachedTurn | undefined> => {
    if (!open) return undefined;
    // Before the journal is read: what is made in between comes twice, and not never.
    const turn = await agents.follow(open, [], { isJoining: true, ...how });
    const split = await agents.splitOpenTurn(open).catch((error: unknown) => {
      turn.leave();
      throw error;
    });
    const show = (messages: ConversationMessage[]) => files.show(sessions.idOf(place), messages);
    return {
      turn,
      ...split,
      readEnd: async (reason) => {
        if (reason === 'interrupt') return show((await agents.splitOpenTurn(open)).made);
        const messages = await readStored(place);
        const asked = new Set(split.asked.map(({ id }) => id));
        return show(messages.filter(({ id }) => !asked.has(id)));
      },
    };
  };

  const attachShown = async (found: FoundThread, how?: { countsAll: boolean }): Promise<AttachedTurn | undefined> => {
    const attached = await attach(found, how);
    return attached && { ...attached, asked: await files.show(sessions.idOf(found.place), attached.asked) };
  };

  return {
    async read(thread) {
      const { place, open } = await find(thread);
      const messages = open ? (await agents.splitOpenTurn(open)).asked : await readStored(place);
      return files.show(sessions.idOf(place), messages);
    },
    follow: async (thread) => attachShown(await find(thread)),
    async rejoin(thread, sent) {
      const found = await find(thread);
      const attached = await attach(found);
      if (!attached) return undefined;
      const sessionId = sessions.idOf(found.place);
      const { asked } = attached;
      if (saysNothing(attached, await files.align(sessionId, asked, sent)))
        return { ...attached, asked: await files.show(sessionId, asked) };
      attached.turn.leave();
      return undefined;
    },
    async followKeyed(thread, key) {
      const found = await find(thread);
      if (found.open?.status !== 'running') return undefined;
      const first = await agents.findRepeat(thread.agent, key);
      return first?.runId === found.open.runId ? attachShown(found, { countsAll: true }) : undefined;
    },
    async stop(thread) {
      const { open } = await find(thread);
      return open !== undefined && cancel(open.runId, thread.caller);
    },
  };
}

// --- internal ---

interface FoundThread {
  place: SessionPlace;
  open: RunRow | undefined;
}

/** Half a message of the turn, which its client has of the stream that was lost, is no word of its own. */
function saysNothing({ turn, asked, made }: AttachedTurn, sent: readonly SentMessage[]): boolean {
  const thread = [...asked, ...made];
  const known = new Set(thread.map(({ id }) => id));
  const whole = sent.filter(({ id }) => known.has(id) || !isMessageOf(turn.runId, id));
  const { kept, added } = viewThread(thread, whole);
  const last = asked.at(-1)?.id;
  return added.length === 0 && kept.some(({ id }) => id === last);
}
