import type { AguiEvent } from './operations.ts';

/** One stream of a turn over several connections, each of which has it from its beginning. */
export interface Rejoined {
  /** Another connection begins. */
  reconnect(): void;
  /**
   * What of an event was not handed on before. A text that goes on in another way than it began, because the box was killed
   * and has asked its model again, comes again from its start.
   */
  take(event: AguiEvent): AguiEvent[];
}

/** @param keepsSnapshots what was made meanwhile comes in them. */
export function createRejoined({ keepsSnapshots }: { keepsSnapshots: boolean }): Rejoined {
  const texts = new Map<string, Text>();
  const seen = new Set<string>();
  const takeOnce = (key: string, event: AguiEvent): AguiEvent[] => {
    if (seen.has(key)) return [];
    seen.add(key);
    return [event];
  };
  return {
    reconnect() {
      for (const text of texts.values()) text.at = 0;
    },
    take(event) {
      const piece = toPiece(event);
      if (!piece) {
        const key = keyOf(event, keepsSnapshots);
        return key === undefined ? [event] : takeOnce(key, event);
      }
      const text = texts.get(piece.key);
      if (text) return piece.take(text);
      if (piece.start) texts.set(piece.key, { start: event, given: '', at: 0, isOver: false });
      return [event];
    },
  };
}

// --- internal ---

interface Text {
  start: AguiEvent;
  /** What was handed on. */
  given: string;
  /** How much of it this connection has had. */
  at: number;
  isOver: boolean;
}

/** An event of a text that comes in pieces. */
interface Piece {
  key: string;
  start?: true;
  take(text: Text): AguiEvent[];
}

function toPiece(event: AguiEvent): Piece | undefined {
  switch (event.type) {
    case 'TEXT_MESSAGE_START':
    case 'REASONING_MESSAGE_START':
      return { key: `${event.role} ${event.messageId}`, start: true, take: () => [] };
    case 'TOOL_CALL_START':
      return { key: `call ${event.toolCallId}`, start: true, take: () => [] };
    case 'TEXT_MESSAGE_CONTENT':
      return { key: `assistant ${event.messageId}`, take: (text) => takeDelta(text, event) };
    case 'REASONING_MESSAGE_CONTENT':
      return { key: `reasoning ${event.messageId}`, take: (text) => takeDelta(text, event) };
    case 'TOOL_CALL_ARGS':
      return { key: `call ${event.toolCallId}`, take: (text) => takeDelta(text, event) };
    case 'TEXT_MESSAGE_END':
      return { key: `assistant ${event.messageId}`, take: (text) => takeEnd(text, event, toContent(event)) };
    case 'REASONING_MESSAGE_END':
      return { key: `reasoning ${event.messageId}`, take: (text) => takeEnd(text, event, toContent(event)) };
    case 'TOOL_CALL_END': {
      const { toolCallId } = event;
      const content: Delta = { type: 'TOOL_CALL_ARGS', toolCallId, delta: '' };
      return { key: `call ${toolCallId}`, take: (text) => takeEnd(text, event, content) };
    }
    default:
      return undefined;
  }
}

type Delta = Extract<AguiEvent, { delta: string }>;
type End = Extract<AguiEvent, { messageId: string }>;

function toContent({ type, messageId }: End): Delta {
  return {
    type: type === 'TEXT_MESSAGE_END' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT',
    messageId,
    delta: '',
  };
}

function takeDelta(text: Text, event: Delta): AguiEvent[] {
  const { given, at } = text;
  const { delta } = event;
  const known = Math.min(delta.length, given.length - at);
  const isSame = given.slice(at, at + known) === delta.slice(0, known);
  const added = delta.slice(known);
  if (isSame && added === '') {
    text.at += known;
    return [];
  }
  text.given = isSame ? given + added : given.slice(0, at) + delta;
  text.at = text.given.length;
  return isSame && !text.isOver ? [{ ...event, delta: added }] : beginAnew(text, event);
}

function takeEnd(text: Text, event: AguiEvent, content: Delta): AguiEvent[] {
  if (text.at < text.given.length) {
    text.given = text.given.slice(0, text.at);
    return [...beginAnew(text, content), ...takeEnd(text, event, content)];
  }
  if (text.isOver) return [];
  text.isOver = true;
  return [event];
}

function beginAnew(text: Text, event: Delta): AguiEvent[] {
  text.isOver = false;
  return [text.start, ...(text.given === '' ? [] : [{ ...event, delta: text.given }])];
}

/** By what an event is known that comes once in a turn. Undefined: each one counts. */
function keyOf(event: AguiEvent, keepsSnapshots: boolean): string | undefined {
  const { type } = event;
  switch (type) {
    case 'RUN_STARTED':
      return type;
    case 'MESSAGES_SNAPSHOT':
      return keepsSnapshots ? undefined : type;
    case 'STEP_STARTED':
    case 'STEP_FINISHED':
      return `${type} ${event.stepName}`;
    case 'REASONING_START':
    case 'REASONING_END':
      return `${type} ${event.messageId}`;
    case 'REASONING_ENCRYPTED_VALUE':
      return `${type} ${event.entityId}`;
    case 'TOOL_CALL_RESULT':
      return `${type} ${event.toolCallId}`;
    default:
      return undefined;
  }
}
