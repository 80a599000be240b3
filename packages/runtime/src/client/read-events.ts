/** A frame of an event stream. */
export interface SentEvent {
  id?: string;
  /** Default: `message`. */
  event: string;
  data: string;
}

export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<SentEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const frames = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const event = toEvent(frame);
      if (event) yield event;
    }
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
