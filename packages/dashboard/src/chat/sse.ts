/** The data of the frames of an event stream, until it or its reader ends. Names and ids of frames are not read. */
export async function* readData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
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
        if (data !== undefined) yield data;
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
