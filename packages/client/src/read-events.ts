/** A frame of an event stream. */
export interface SentEvent {
  id?: string;
  /** Default: `message`. */
  event: string;
  data: string;
}

/** The frames of an answer, until it or its reader ends. @param onPiece called with whatever comes */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onPiece: () => void = () => {},
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
      onPiece();
      const text = decoder.decode(value, { stream: true });
      const isWhole = text.includes('\n\n') || (text.startsWith('\n') && pieces.at(-1)?.endsWith('\n') === true);
      if (text !== '') pieces.push(text);
      if (!isWhole) continue;
      const frames = pieces.join('').split('\n\n');
      pieces = [frames.pop() ?? ''];
      yield* frames.map(toEvent).filter((event) => event !== undefined);
    }
  } finally {
    // Frees the connection of a stream that is left.
    reader.cancel().catch(() => {});
  }
}

// --- internal ---

/** Undefined: a comment, which keeps the connection open. */
function toEvent(frame: string): SentEvent | undefined {
  const fields: Record<string, string> = {};
  for (const line of frame.split('\n')) {
    const [, name = '', value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name !== '') fields[name] = name === 'data' && fields.data !== undefined ? `${fields.data}\n${value}` : value;
  }
  const { id, event = 'message', data } = fields;
  return data === undefined ? undefined : { event, data, ...(id === undefined ? {} : { id }) };
}
