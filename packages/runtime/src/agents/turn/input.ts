import type { HeldBy } from '../../approvals/held-text.ts';
import type { ValueDigest } from '../../engine/journal/digest.ts';
import type { ChatMessage, KeptMembers } from '../model/messages.ts';
import type { ModelReply } from '../model/read-reply.ts';

/** A message of a conversation, as the box keeps it. Ids are stable: a client that replays them is recognised. */
export type ConversationMessage = ChatMessage & KeptMembers & { id: string };

/** What stands for the older messages of a conversation when the model is called. The messages themselves stay. */
export interface ConversationSummary {
  text: string;
  /** The id of the last message it replaces. */
  upTo: string;
}

/** A summary as it is kept: with the turn that made it, and what that turn began with. */
export interface KeptSummary extends ConversationSummary {
  runId?: string;
  before?: ConversationSummary | null;
}

/** A tool the client runs itself. */
export interface ClientTool {
  name: string;
  description: string;
  /** JSON Schema. */
  parameters: Record<string, unknown>;
  /** The model is to keep to it; without a word, the provider decides. */
  strict?: boolean;
}

/** Under which a client may ask for a turn again, and get the one it began. */
export interface TurnKey {
  /** What the client calls it. */
  key: string;
  /** Whose key it is, and of which wire: outside of this it is another one. */
  scope: readonly string[];
  /** Of what is asked. */
  digest: ValueDigest;
}

/** What holds what a turn is asked with. */
export interface HeldInput extends HeldBy {
  /** Where in its messages that begins which is new: what is before has been asked with. */
  from: number;
}

/** What the run of a turn is started with: all it needs to go on in another process. */
export interface TurnInput {
  model: string;
  /** The client's own system texts; they stand behind the agent's instructions. */
  system: string[];
  /** What is new in this turn; without a session, the whole conversation. */
  messages: ConversationMessage[];
  tools: ClientTool[];
  /** Handed to the provider as they came. */
  parameters: Record<string, unknown>;
  /** Handed to the provider too, unless it refuses them: what the client would like, where the model can. */
  hints?: Record<string, unknown>;
  /** The box keeps this conversation; `cutAfter` forgets what comes after that message, null all of it. */
  session?: { id: string; cutAfter?: string | null };
  /** The answer is an object of this JSON Schema. */
  outputSchema?: Record<string, unknown>;
  /** The client may ask for it again, so it goes on without one that reads it. */
  isKeyed?: boolean;
  /** The guardrail that has it wait for an operator. Absent: none does. */
  held?: HeldInput;
  /** How many turns stand above this one. Absent: none. */
  depth?: number;
  /** The call of the turn above that handed it its task. Absent: none did. */
  callId?: string;
  /** The turn above, as its run is named, and the tool of it whose result the answer is. Absent: of no tool. */
  resultOf?: { agent: string; tool: string };
}

/** What the model thought is kept for people, with what it said. */
export function withReasoning(message: ConversationMessage, { reasoning }: ModelReply): ConversationMessage {
  return reasoning === '' ? message : { ...message, reasoning };
}
