import type { Emit, Executor } from '../events/turn-events.ts';
import type { ToolCall } from './messages.ts';

/** A fragment of a tool call, with as much as the provider says. */
export interface ToolDelta {
  index?: number;
  id?: string;
  function?: { name?: string; arguments?: string };
}

/** Resolves when the readers have taken enough of it, or the signal aborts. Undefined: they have. */
export type UntilTaken = (signal: AbortSignal) => Promise<void> | undefined;

export interface ReplyOptions {
  emit: Emit;
  /** The id of the assistant message; further texts of the same reply get a number behind it. */
  messageId: string;
  executorOf(name: string): Executor;
  /** A call id that no other call of the conversation has: providers count theirs from the start in every reply. */
  uniqueId(id: string): string;
  /** Default: the readers keep up. */
  untilTaken?: UntilTaken;
  /** It is for no reader, and stands for what was said. */
  isSummary?: boolean;
  /** How many parts of each kind the message has had before. Default: none. */
  begun?: BegunParts;
}

export interface BegunParts {
  text: number;
  reasoning: number;
}

/** Collects one streamed model reply and emits its parts in order, none overlapping another. */
export interface ReplyParts {
  text(text: string): void;
  reasoning(text: string): void;
  tool(delta: ToolDelta): void;
  /** It has a part. */
  readonly hasAny: boolean;
  /** Characters, of which each takes a byte at least where the reply is recorded. */
  readonly size: number;
  /** Ends what is open and answers the whole. */
  close(): { content: string; reasoning: string; toolCalls: ToolCall[] };
}

/**
 * The first part of the queue is emitted as it comes. A provider may mix the fragments of several calls: then the later
 * ones are held until the arguments of the first are whole.
 */
export function createReplyParts(options: ReplyOptions): ReplyParts {
  const { emit, messageId } = options;
  const parts: Part[] = [];
  const byIndex = new Map<number, Part>();
  let current = 0;
  let size = 0;

  const advance = (all: boolean) => {
    for (let part = parts[current]; part; part = parts[current]) {
      if (part.kind === 'tool' && part.name === '' && !all) return;
      emitNew(part, options);
      const isLast = current === parts.length - 1;
      if (!all && (isLast || !isWhole(part))) return;
      emitEnd(part, emit);
      current++;
    }
  };
  const add = (kind: Part['kind'], id: string, givenId?: string): Part => {
    const part = { kind, id, givenId, name: '', value: '', unsent: '', begun: false };
    parts.push(part);
    if (kind === 'tool') size += id.length + CALL_SIZE;
    return part;
  };
  const append = (part: Part, text: string) => {
    size += text.length;
    part.value += text;
    part.unsent += text;
    advance(false);
  };
  const open = (kind: 'text' | 'reasoning') => {
    const last = parts.at(-1);
    if (last?.kind === kind) return last;
    const before = (options.begun?.[kind] ?? 0) + parts.filter((part) => part.kind === kind).length;
    const id = kind === 'text' ? messageId : `${messageId}-reasoning`;
    return add(kind, before === 0 ? id : `${id}-${before + 1}`);
  };
  return {
    text: (text) => append(open('text'), text),
    reasoning: (text) => append(open('reasoning'), text),
    tool(delta) {
      const known = findCall(delta, parts, byIndex);
      const part = known ?? add('tool', options.uniqueId(delta.id || `call_${messageId}`), delta.id);
      if (!known && typeof delta.index === 'number') byIndex.set(delta.index, part);
      part.name ||= delta.function?.name ?? '';
      append(part, delta.function?.arguments ?? '');
    },
    get hasAny() {
      return parts.length > 0;
    },
    get size() {
      return size;
    },
    close() {
      advance(true);
      const textOf = (kind: Part['kind']) => parts.map((part) => (part.kind === kind ? part.value : '')).join('');
      const toolCalls = parts
        .filter(({ kind }) => kind === 'tool')
        .map(({ id, name, value }) => ({ id, name, arguments: value }));
      return { content: textOf('text'), reasoning: textOf('reasoning'), toolCalls };
    },
  };
}

// --- internal ---

/** The names of its members, without their values. */
const CALL_SIZE = '"id":"","name":"","arguments":""'.length;

interface Part {
  kind: 'text' | 'reasoning' | 'tool';
  id: string;
  /** The provider's own id of a call. */
  givenId: string | undefined;
  name: string;
  value: string;
  /** What of `value` is not emitted yet. */
  unsent: string;
  begun: boolean;
}

/** The call a fragment belongs to. Some providers number every call 0, others number none: a new id with a name is a new call. */
function findCall(delta: ToolDelta, parts: readonly Part[], byIndex: Map<number, Part>): Part | undefined {
  const { index } = delta;
  const numbered = index !== undefined;
  const known = numbered ? byIndex.get(index) : parts.findLast(({ kind }) => kind === 'tool');
  const named = Boolean(delta.function?.name);
  // Without an id and a number, a name says that another call begins, once the one before is whole.
  const begins = delta.id
    ? named && delta.id !== known?.givenId
    : named && !numbered && known !== undefined && isWhole(known);
  return begins ? undefined : known;
}

function emitNew(part: Part, { emit, messageId, executorOf }: ReplyOptions): void {
  const { kind, id, name, unsent: text } = part;
  if (!part.begun)
    emit(
      kind === 'tool'
        ? { type: 'tool.start', callId: id, name, messageId, executor: executorOf(name) }
        : { type: `${kind}.start`, id },
    );
  part.begun = true;
  part.unsent = '';
  if (text === '') return;
  emit(kind === 'tool' ? { type: 'tool.args', callId: id, delta: text } : { type: `${kind}.delta`, id, text });
}

function emitEnd({ kind, id, value }: Part, emit: Emit): void {
  emit(kind === 'tool' ? { type: 'tool.end', callId: id, args: value } : { type: `${kind}.end`, id });
}

/** Nothing more can come for this part once another has begun. Arguments are an object, so they are whole when they parse. */
function isWhole({ kind, value }: Part): boolean {
  if (kind !== 'tool') return true;
  if (!value.trimEnd().endsWith('}')) return false;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}
