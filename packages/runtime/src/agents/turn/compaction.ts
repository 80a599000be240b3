import { estimateTokens } from './context-size.ts';
import type { ChatMessage } from '../model/messages.ts';
import type { ConversationMessage, ConversationSummary } from './input.ts';

/** What a turn shows the model of the conversation before it. */
export interface Past {
  /** Of what is not shown. */
  summary: ConversationSummary | undefined;
  /** What came after that. */
  messages: readonly ConversationMessage[];
}

export interface CompactionOptions {
  /** Tokens at which there has to be room. */
  limit: number;
  /** Tokens of all the model is shown, the past included. */
  size: number;
  /** Undefined: no summary is to be had. */
  summarise(request: SummaryRequest): Promise<string | undefined>;
}

/** How many messages of the conversation a summary is about, and the last of them. */
export interface SummaryPlace {
  count: number;
  upTo: string;
}

/** A model call that answers a summary. */
export interface SummaryRequest extends SummaryPlace {
  messages: ChatMessage[];
}

/** A model call that the journal has: of a summary, which messages it is about. */
export interface RecordedModelCall {
  summary: SummaryPlace | undefined;
}

/** The step it is recorded as. */
export const COMPACT = 'compact';

export function toPast(history: readonly ConversationMessage[], summary: ConversationSummary | undefined): Past {
  const last = summary === undefined ? -1 : history.findIndex(({ id }) => id === summary.upTo);
  return last < 0 ? { summary: undefined, messages: history } : { summary, messages: history.slice(last + 1) };
}

/** What comes after the instructions; undefined: nothing is left out. */
export function toNote({ summary }: Past): string | undefined {
  return summary && `What was said before, in short:\n${summary.text}`;
}

/**
 * Summarises the older part of the past where the model would be shown more than the limit. Whole turns only, so that
 * no tool call is parted from its result. Answers the past itself where nothing changes.
 */
export async function compact(past: Past, { limit, size, summarise }: CompactionOptions): Promise<Past> {
  if (size <= limit || past.messages.length === 0) return past;
  const others = size - estimateTokens(past.messages);
  const kept = newestTurns(past.messages, limit * KEPT_SHARE - others);
  const older = past.messages.slice(0, past.messages.length - kept.length);
  if (older.length === 0) return past;
  let shown = past;
  for (const part of split(older, limit * PART_SHARE)) {
    const upTo = part.at(-1)?.id ?? '';
    const text = await summarise({ messages: toRequest(shown.summary?.text, part), count: part.length, upTo });
    // The parts before it stay summarised: a replay that finds them in the journal begins with them.
    if (!text) return shown;
    shown = toPast(shown.messages, { text, upTo });
  }
  return shown;
}

/**
 * The past with the summaries that were made of it before. What the model is shown besides, such as the tools of a server
 * that is down now, plays no part in it any more.
 */
export async function repeatSummaries(
  past: Past,
  places: readonly SummaryPlace[],
  summarise: CompactionOptions['summarise'],
): Promise<Past> {
  let shown = past;
  for (const place of places) {
    const text = await summarise({ messages: [], ...place });
    if (!text) return shown;
    shown = toPast(shown.messages, { text, upTo: place.upTo });
  }
  return shown;
}

// --- internal ---

/** Of the limit: what may be there once room is made, and what one summary is made of. */
const KEPT_SHARE = 0.5;
const PART_SHARE = 0.75;

const TASK =
  'You are given a part of a conversation between a user and an assistant. Write a summary from which the assistant ' +
  'can go on without having seen it: facts, names, numbers, decisions, what tools answered, what is still to be done. ' +
  'Answer with the summary alone.';

/** The last turns that fit. */
function newestTurns(messages: readonly ConversationMessage[], room: number): readonly ConversationMessage[] {
  let from = messages.length;
  let used = 0;
  for (let at = messages.length - 1; at >= 0; at--) {
    used += estimateTokens(messages.slice(at, at + 1));
    if (used > room) break;
    if (isBegin(messages, at)) from = at;
  }
  return messages.slice(from);
}

/** Parts of whole turns, as one of them may have no summary. A turn that is larger than a part is cut. */
function split(messages: readonly ConversationMessage[], room: number): ConversationMessage[][] {
  const parts: ConversationMessage[][] = [];
  let left = 0;
  for (const turn of toTurns(messages))
    for (const piece of estimateTokens(turn) > room ? turn.map((message) => [message]) : [turn]) {
      const size = estimateTokens(piece);
      if (size > left) {
        parts.push([]);
        left = room;
      }
      parts.at(-1)?.push(...piece);
      left -= size;
    }
  return parts;
}

function toTurns(messages: readonly ConversationMessage[]): ConversationMessage[][] {
  const turns: ConversationMessage[][] = [];
  for (const [at, message] of messages.entries())
    if (at === 0 || isBegin(messages, at)) turns.push([message]);
    else turns.at(-1)?.push(message);
  return turns;
}

/** A turn begins with a message of the user. */
function isBegin(messages: readonly ConversationMessage[], at: number): boolean {
  return messages[at]?.role === 'user' && messages[at - 1]?.role !== 'user';
}

function toRequest(before: string | undefined, messages: readonly ConversationMessage[]): ChatMessage[] {
  const said = messages.map(toLine).join('\n\n');
  const content = before === undefined ? said : `Summary of what came before:\n${before}\n\n${said}`;
  return [
    { role: 'system', content: TASK },
    { role: 'user', content },
  ];
}

function toLine(message: ConversationMessage): string {
  const text = toText(message.content);
  if (message.role === 'tool') return `[tool result] ${text}`;
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
  const called = calls.map(({ function: { name, arguments: args } }) => `[calls ${name} ${args}]`);
  return [`[${message.role}] ${text}`, ...called].join('\n');
}

/** What is no text is named: a summary cannot show it. */
function toText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) => {
      const { text, type } = (part ?? {}) as { text?: unknown; type?: unknown };
      return typeof text === 'string' ? text : `[${String(type)}]`;
    })
    .join('\n');
}
