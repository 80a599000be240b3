/** A frame of an event stream. */
export interface SentEvent {
  id?: string;
  /** Default: `message`. */
  event: string;
  data: string;
}

export interface ReadEventsOptions {
  /** Called with whatever comes. */
  onPiece?: (() => void) | undefined;
  /** Called with each id, of a frame without data, too, which is no event but says where to go on. Empty: from the start. */
  onId?: ((id: string) => void) | undefined;
}

/** The frames of an answer that have data, until it or its reader ends. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  { onPiece, onId }: ReadEventsOptions = {},
): AsyncGenerator<SentEvent> {
  const decoder = new TextDecoder();
  // Not every browser can iterate a stream.
  const reader = body.getReader();
  // Joined once a frame is whole: a long one may come in many pieces.
  let pieces: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onPiece?.();
      const text = decoder.decode(value, { stream: true });
      const isWhole = text.includes('\n\n') || (text.startsWith('\n') && pieces.at(-1)?.endsWith('\n') === true);
      if (text !== '') pieces.push(text);
      if (!isWhole) continue;
      const frames = pieces.join('').split('\n\n');
      pieces = [frames.pop() ?? ''];
      for (const frame of frames) {
        const { id, event = 'message', data } = toFields(frame);
        if (id !== undefined) onId?.(id);
        if (data !== undefined) yield { event, data, ...(id === undefined ? {} : { id }) };
      }
    }
  } finally {
    // Frees the connection of a stream that is left.
    reader.cancel().catch(() => {});
  }
}

// --- internal ---

/** Of a comment, which keeps the connection open: none. */
function toFields(frame: string): Partial<SentEvent> {
  const fields: Record<string, string> = {};
  for (const line of frame.split('\n')) {
    const [, name = '', value = ''] = /^(\w+)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name !== '') fields[name] = name === 'data' && fields.data !== undefined ? `${fields.data}\n${value}` : value;
  }
  return fields;
}
