import type { AgentState } from '../../tools/state.ts';
import type { Usage } from '../events/turn-events.ts';
import type { ConversationMessage, ConversationSummary } from './input.ts';

/** `session`: the box keeps the messages. `conversation`: it only groups the turns. */
export type SessionKind = 'session' | 'conversation';

export interface SessionName {
  agent: string;
  /** What the client calls it: a header, a thread id. */
  name: string;
  kind: SessionKind;
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
  messages: ConversationMessage[];
  state: AgentState;
  usage: Usage;
  /** Replaces the one there is. */
  summary?: ConversationSummary;
  /** Forgets what stands behind this message first; null: everything. */
  cutAfter?: string | null | undefined;
}

/** The conversations the box keeps, as turns read and extend them. */
export interface SessionStore {
  /** The id of a session, whether it is there or not. */
  idOf(agent: string, name: string): string;
  /** The id of the session, made if there is none: the same for the same agent and name. */
  open(session: SessionName & { askedBy?: string }): Promise<string>;
  /** `beforeRun`: without what that turn has added, should it have been saved already. */
  read(sessionId: string, cutAfter?: string | null, beforeRun?: string): Promise<Conversation>;
  /** Adds a turn, once: a repeat of the same run changes nothing, and a session that was deleted gets nothing. */
  add(turn: TurnToKeep): Promise<void>;
}
