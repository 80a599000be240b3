/** A frame of an event stream that has data. */
export interface SseFrame {
  id: string | undefined;
  event: string | undefined;
  data: string;
}

/** The data of the frames of an event stream, until it or its reader ends. */
export async function* readData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  for await (const { data } of readFrames(body)) yield data;
}

/** The frames of an event stream, until it or its reader ends. */
export async function* readFrames(body: ReadableStream<Uint8Array>): AsyncGenerator<SseFrame> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  // Joined once a frame is whole: a long one may come in many pieces.
  let pieces: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const text = decoder.decode(value, { stream: true });
      const isWhole = text.includes('\n\n') || (text.startsWith('\n') && pieces.at(-1)?.endsWith('\n') === true);
      if (text !== '') pieces.push(text);
      if (!isWhole) continue;
      const frames = pieces.join('').split('\n\n');
      pieces = [frames.pop() ?? ''];
      for (const frame of frames) {
        const data = toData(frame);
        if (data !== undefined) yield { id: fieldOf(frame, 'id'), event: fieldOf(frame, 'event'), data };
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// --- internal ---

/** Undefined: a comment, which keeps the connection open. */
function toData(frame: string): string | undefined {
  const lines = frame.split('\n').filter((line) => line.startsWith('data:'));
  return lines.length === 0 ? undefined : lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n');
}

function fieldOf(frame: string, name: 'id' | 'event'): string | undefined {
  const line = frame.split('\n', 3).find((one) => one.startsWith(`${name}:`));
  return line?.slice(name.length + 1).trim();
}
