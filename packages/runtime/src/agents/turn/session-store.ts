import type { AgentState } from '../../tools/state.ts';
import type { Usage } from '../events/turn-events.ts';
import type { ConversationMessage, ConversationSummary } from './input.ts';

/** `session`: the box keeps the messages. `conversation`: it only groups the turns. */
export type SessionKind = 'session' | 'conversation';

/** What makes a session: the same name of another owner is another session. */
export interface SessionPlace {
  agent: string;
  /** What the client calls it: a header, a thread id. */
  name: string;
  owner: SessionOwner;
}

/** Whose a session is. */
export interface SessionOwner {
  /** Empty: the box, for what its code says to agents. */
  id: string;
  client: string | null;
  userId: string | null;
}

export const BOX_OWNER: SessionOwner = Object.freeze({ id: '', client: null, userId: null });

/** What comes before the id of a trigger that owns a session. */
export const TRIGGER_OWNER = 'trigger ';

/** Of what senders say to agents by one trigger: neither another trigger nor the code of the box goes on with it. */
export function triggerOwner(id: string): SessionOwner {
  return { id: TRIGGER_OWNER + id, client: null, userId: null };
}

/** A conversation as a turn finds it. */
export interface Conversation {
  messages: ConversationMessage[];
  state: AgentState;
  /** Of the first of the messages. */
  summary?: ConversationSummary;
}

/** What one turn adds. */
export interface TurnToKeep {
  sessionId: string;
  runId: string;
  /** `session` makes one of a conversation; `conversation` leaves what a session keeps as it is. */
  kind: SessionKind;
  messages: ConversationMessage[];
  state: AgentState;
  usage: Usage;
  /** What the turn has cost, where it is known. */
  cost?: number;
  /** Replaces the one there is. */
  summary?: ConversationSummary;
  /** Forgets what comes after this message first; null: everything. */
  cutAfter?: string | null | undefined;
}

/** The conversations the box keeps, as turns read and extend them. */
export interface SessionStore {
  /** The id of a session, whether it is there or not. */
  idOf(place: SessionPlace): string;
  /**
   * The id of the session, made if there is none: the same for the same agent, name and owner. `isReadNext`: a turn reads it
   * before it does anything, so that one this process knows takes no statement. Default: false.
   */
  open(session: SessionPlace & { kind: SessionKind; askedBy?: string; isReadNext?: boolean }): Promise<string>;
  /**
   * Whose the session of that agent and name is: this owner's, or else the one that was active last. Undefined: there is
   * none. `askedBy`: of those that a person began, too; default: none of them.
   */
  findOwner(place: SessionPlace, of?: { askedBy: 'anyone' }): Promise<SessionOwner | undefined>;
  /**
   * `beforeRun`: without what that turn has added, should it have been saved already. For a turn that has begun, so a session
   * that was deleted before is made again.
   */
  read(sessionId: string, cutAfter?: string | null, beforeRun?: string): Promise<Conversation>;
  /** Adds a turn, once: a repeat of the same run changes nothing, and a session that was deleted gets nothing. */
  add(turn: TurnToKeep): Promise<void>;
}
