import type { AgentState } from '../../tools/state.ts';
import type { Usage } from '../events/turn-events.ts';
import { pairToolCalls, toChatMessage } from '../model/messages.ts';
import type { ChatMessage } from '../model/messages.ts';
import { toNote, toPast } from './compaction.ts';
import type { Past } from './compaction.ts';
import type { ConversationMessage } from './input.ts';
import type { TurnAdded, TurnOptions } from './options.ts';

/** The conversation of one turn: what it was before, what the turn adds, and what of it the model is shown. */
export class TurnConversation {
  readonly #options: TurnOptions;
  readonly #added: ConversationMessage[];
  readonly #callIds: Set<string>;
  #past: Past;
  #messages: ChatMessage[];
  /** How many of the messages the journal has. */
  #recorded: number;

  constructor(options: TurnOptions) {
    const { input, history, summary } = options;
    this.#options = options;
    this.#added = [...input.messages];
    this.#past = toPast(history, summary);
    this.#messages = this.#toMessages();
    this.#recorded = this.#messages.length;
    this.#callIds = new Set([...history, ...input.messages].flatMap(callIdsOf));
  }

  /** What the model is shown. */
  get messages(): readonly ChatMessage[] {
    return this.#messages;
  }

  get past(): Past {
    return this.#past;
  }

  /** The id of the message that was added last. */
  get lastId(): string {
    return this.#added.at(-1)?.id ?? '';
  }

  add(message: ConversationMessage): void {
    for (const id of callIdsOf(message)) this.#callIds.add(id);
    this.#messages.push(toChatMessage(message));
    this.#added.push(message);
  }

  /** Shows the model this in place of the past so far. */
  showPast(past: Past): void {
    if (past === this.#past) return;
    const unrecorded = this.#messages.length - this.#recorded;
    this.#past = past;
    this.#messages = this.#toMessages();
    this.#recorded = this.#messages.length - unrecorded;
  }

  /** What a model call records: the messages that were added since the call before. */
  unrecorded(): { from: number; messages: ChatMessage[] } {
    const from = this.#recorded - (this.#messages[0]?.role === 'system' ? 1 : 0);
    return { from, messages: this.#messages.slice(this.#recorded) };
  }

  setRecorded(): void {
    this.#recorded = this.#messages.length;
  }

  /** A call id that no other call of the conversation has. */
  uniqueCallId(id: string): string {
    let unique = id;
    for (let n = 2; this.#callIds.has(unique); n++) unique = `${id}_${n}`;
    this.#callIds.add(unique);
    return unique;
  }

  toAdded(state: AgentState, usage: Usage): TurnAdded {
    const { summary } = this.#past;
    const isNew = summary !== undefined && summary !== this.#options.summary;
    return { messages: this.#added, state, usage, ...(isNew ? { summary } : {}) };
  }

  #toMessages(): ChatMessage[] {
    const { input, instructions } = this.#options;
    const system = [instructions, ...input.system, toNote(this.#past)].filter(Boolean).join('\n\n');
    const conversation = pairToolCalls([...this.#past.messages, ...this.#added]);
    return system === '' ? conversation : [{ role: 'system', content: system }, ...conversation];
  }
}

// --- internal ---

function callIdsOf(message: ChatMessage): string[] {
  return message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : [];
}
