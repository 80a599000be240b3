/** One frame of a server-sent-event stream. */
export interface Frame {
  id?: string;
  /** `message` when the frame names none. */
  event: string;
  /** Absent in a frame that only says where the stream stands. */
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
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    onBytes();
    rest += decoder.decode(chunk, { stream: true });
    const blocks = rest.split(/\r\n\r\n|\n\n|\r\r/);
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const frame = parseFrame(block);
      if (frame) yield frame;
    }
  }
}

// --- internal ---

function parseFrame(block: string): Frame | undefined {
  const frame: Frame = { event: 'message' };
  const data: string[] = [];
  let isEmpty = true;
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, name = '', value = ''] = /^([^:]*)(?:: ?([^]*))?$/.exec(line) ?? [];
    if (name === 'data') data.push(value);
    else if (name === 'event') frame.event = value;
    else if (name === 'id') frame.id = value;
    else if (name === 'retry' && /^\d+$/.test(value)) frame.retry = Number(value);
    else continue;
    isEmpty = false;
  }
  if (isEmpty) return undefined;
  return data.length === 0 ? frame : { ...frame, data: data.join('\n') };
}
