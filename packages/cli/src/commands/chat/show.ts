import { toPlainText } from '../../terminal/style.ts';
import type { Style } from '../../terminal/style.ts';
import { shorten } from '../../terminal/width.ts';
import type { ChatEvent } from './events.ts';

type Paint = Pick<Style, 'dim' | 'ellipsis' | 'columns'>;

/** What a person is shown of an event. Undefined: nothing. */
export interface Shown {
  /** The answer itself, or what is beside it: calls of tools, and what was said before. */
  part: 'answer' | 'aside';
  text(style: Paint): string;
  /** The next text stands on the same line. */
  isOpen?: boolean;
}

export interface Show {
  (event: ChatEvent): Shown | undefined;
  /** The call is the last line on the terminal, with all of its arguments. */
  endsWith(toolCallId: string): boolean;
}

/** Shows the events of one turn after the other. `recaps`: what was said before, too. */
export function createShow({ recaps }: { recaps: boolean }): Show {
  let last: { toolCallId: unknown; isWhole: boolean } | undefined;
  const calls = new Map<unknown, { name: string; args: string }>();
  const handlers: Record<string, ((event: ChatEvent) => Shown | undefined) | undefined> = {
    TEXT_MESSAGE_CONTENT: ({ delta }) => ({
      part: 'answer',
      isOpen: true,
      text: () => toPlainText(String(delta)),
    }),
    TEXT_MESSAGE_END: () => ({ part: 'answer', text: () => '\n' }),
    TOOL_CALL_START: ({ toolCallId, toolCallName }) => {
      calls.set(toolCallId, { name: String(toolCallName), args: '' });
      return undefined;
    },
    TOOL_CALL_ARGS: ({ toolCallId, delta }) => {
      const call = calls.get(toolCallId);
      if (call && call.args.length < LONGEST) call.args += String(delta);
      return undefined;
    },
    TOOL_CALL_END: ({ toolCallId }) => {
      const call = calls.get(toolCallId);
      if (!call) return undefined;
      const text = `${call.name} ${call.args}`;
      const shown: Shown['text'] = (style) => {
        last = { toolCallId, isWhole: text.length <= LONGEST && shorten(text, style.columns ?? 0, '') === text };
        return toLine(text, style);
      };
      return { part: 'aside', text: shown };
    },
    TOOL_CALL_RESULT: ({ content }) => aside(`  = ${typeof content === 'string' ? content : JSON.stringify(content)}`),
    MESSAGES_SNAPSHOT: ({ messages }) => (recaps ? showMessages(messages as Message[]) : undefined),
  };
  const show = (event: ChatEvent): Shown | undefined => {
    const shown = handlers[event.type]?.(event);
    if (shown) last = undefined;
    return shown;
  };
  const endsWith = (toolCallId: string): boolean => last?.toolCallId === toolCallId && last.isWhole;
  return Object.assign(show, { endsWith });
}

// --- internal ---

/** Characters of a call: no terminal shows more of them in a line. */
const LONGEST = 1_000;

/** Of what was said before. */
const LAST_MESSAGES = 6;

interface Message {
  role: string;
  content?: unknown;
}

function aside(text: string): Shown {
  return { part: 'aside', text: (style) => toLine(text, style) };
}

function showMessages(messages: readonly Message[]): Shown | undefined {
  const said = messages.filter(({ role, content }) => /^(user|assistant)$/.test(role) && content);
  if (said.length === 0) return undefined;
  const lines = said
    .slice(-LAST_MESSAGES)
    .map(({ role, content }) => `${role === 'user' ? '> ' : ''}${toText(content)}`);
  const left = said.length - lines.length;
  const all = left > 0 ? [`(${left} earlier messages)`, ...lines] : lines;
  return { part: 'aside', text: (style) => all.map((line) => toLine(line, style)).join('\n') };
}

function toText(content: unknown): string {
  if (typeof content === 'string') return content;
  const parts = Array.isArray(content) ? (content as { type: string; text?: string }[]) : [];
  return parts.map(({ type, text }) => text ?? `[${type}]`).join(' ');
}

function toLine(text: string, style: Paint): string {
  const line = toPlainText(text.slice(0, LONGEST)).replaceAll(/\s*\n\s*/g, ' ');
  return style.dim(shorten(line, style.columns ?? LONGEST, style.ellipsis));
}
