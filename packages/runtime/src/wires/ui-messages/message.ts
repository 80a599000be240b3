import type { PartMetadata, UiChunk } from './chunk.ts';

/** The one message a client gets: its steps, each a message of the thread, and the texts in them. */
export interface UiMessage {
  start(messageId: string | undefined): UiChunk[];
  /** Begins the step of the message, unless it is under way. */
  enter(messageId: string): UiChunk[];
  /** Ends what is open. */
  endStep(): UiChunk[];
  beginPart(kind: PartKind, id: string): UiChunk[];
  addToPart(kind: PartKind, delta: { id: string; text: string }): UiChunk[];
  endPart(id: string): UiChunk[];
  wholePart(kind: PartKind, id: string, text: string): UiChunk[];
  /** Whether the client has the message, or is to get it whole at the end. */
  isLeftOut(messageId: string): boolean;
  /** Whether the message is to be sent whole: neither has the client it nor was it streamed. */
  restart(messageId: string): boolean;
}

export type PartKind = 'text' | 'reasoning';

export interface UiMessageOptions {
  runId: string;
  /** The message of the client that is gone on with. Undefined: a new one. */
  messageId: string | undefined;
  /** Ids of messages that the client has whole; grows while they are sent. */
  had: ReadonlySet<string>;
}

export function createUiMessage({ runId, had, ...options }: UiMessageOptions): UiMessage {
  const streamed = new Set<string>();
  /** Read from the middle on: they are restated at the end. */
  const missed = new Set<string>();
  /** Parts that have begun, and how they end. */
  const open = new Map<string, UiChunk>();
  let hasStarted = false;
  let isInStep = false;
  let current: string | undefined;

  const start = (messageId: string | undefined): UiChunk[] => {
    if (hasStarted) return [];
    hasStarted = true;
    const id = options.messageId ?? messageId;
    return [{ type: 'start', ...(id === undefined ? {} : { messageId: id }), messageMetadata: { svc: { runId } } }];
  };
  const endStep = (): UiChunk[] => {
    const ends: UiChunk[] = [...open.values()];
    open.clear();
    if (isInStep) ends.push({ type: 'finish-step' });
    isInStep = false;
    return ends;
  };
  const enter = (messageId: string): UiChunk[] => {
    if (current === messageId) return [];
    current = messageId;
    streamed.add(messageId);
    const begun: UiChunk[] = [...start(messageId), ...endStep(), { type: 'start-step' }];
    isInStep = true;
    return begun;
  };
  const beginPart = (kind: PartKind, id: string): UiChunk[] => {
    const messageId = messageOf(id);
    if (had.has(messageId)) return [];
    const step = enter(messageId);
    open.set(id, { type: `${kind}-end`, id });
    return [...step, { type: `${kind}-start`, id, providerMetadata: metadataOf(messageId) }];
  };
  const endPart = (id: string): UiChunk[] => {
    const end = open.get(id);
    open.delete(id);
    return end ? [end] : [];
  };
  return {
    start,
    enter,
    endStep,
    beginPart,
    endPart,
    addToPart(kind, { id, text: delta }) {
      if (open.has(id)) return [{ type: `${kind}-delta`, id, delta }];
      if (!had.has(messageOf(id))) missed.add(messageOf(id));
      return [];
    },
    wholePart: (kind, id, delta) => [...beginPart(kind, id), { type: `${kind}-delta`, id, delta }, ...endPart(id)],
    isLeftOut: (messageId) => had.has(messageId) || missed.has(messageId),
    restart(messageId) {
      if (had.has(messageId) || streamed.has(messageId)) return false;
      missed.delete(messageId);
      return true;
    },
  };
}

export function metadataOf(messageId: string): PartMetadata {
  return { svc: { messageId } };
}

// --- internal ---

/** The id of a text or of what was thought before it is that of its message, and a number behind it from the second on. */
function messageOf(partId: string): string {
  return /^(msg_[^_]+_\d+)-/.exec(partId)?.[1] ?? partId;
}
