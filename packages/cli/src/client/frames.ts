/** One frame of a server-sent-event stream. */
export interface Frame {
  id?: string;
  /** `message` when the frame names none. */
  event: string;
  /** Absent in a frame that only says where the stream is. */
  data?: string;
  /** Milliseconds to wait before connecting again. */
  retry?: number;
}

/**
 * Reads frames as they come. Comments are left out; a frame that is cut off by the end is none. `onBytes`: something
 * came, be it a comment.
 */
export async function* readFrames(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void = () => {},
): AsyncGenerator<Frame> {
  const { createParser } = await import('eventsource-parser');
  const frames: Frame[] = [];
  const parser = createParser({
    onEvent: ({ id, event = 'message', data }) =>
      void frames.push({ ...(id === undefined ? {} : { id }), event, data }),
    onRetry: (retry) => void frames.push({ event: 'message', retry }),
  });
  const readPosition = trackPosition();
  const decoder = new TextDecoder();
  let last: string | undefined;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    onBytes();
    const text = decoder.decode(chunk, { stream: true });
    parser.feed(text);
    const position = readPosition(text);
    last = frames.findLast(({ id }) => id !== undefined)?.id ?? last;
    if (position !== undefined && position !== last) frames.push({ event: 'message', id: position });
    last = position;
    yield* frames.splice(0);
  }
}

// --- internal ---

/**
 * Answers the id of the last whole frame, with each piece of the text. The parser drops a frame without data, and a box
 * says with one where its stream is: `id: 7` alone.
 */
function trackPosition(): (text: string) => string | undefined {
  let rest = '';
  let id: string | undefined;
  let position: string | undefined;
  return (text) => {
    // The half of a line break at the end may have its other half in the next piece.
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') position = id ?? position;
      else if (line.startsWith('id:')) id = line.slice(3).replace(/^ /, '');
    }
    return position;
  };
}
