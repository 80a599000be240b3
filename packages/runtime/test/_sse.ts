import { expect, onTestFinished } from 'vitest';

export interface SseEvent {
  id: string | undefined;
  type: string;
  data: Record<string, unknown>;
}

export interface Stream {
  text(): string;
  /** Those of `type`. Default: `log`. */
  events(type?: string): SseEvent[];
  /** The messages of the log records that came. */
  says(): string[];
  isOver(): boolean;
  close(): void;
}

/** Reads a stream of server-sent events from a socket, until the test ends. */
export async function listenTo(url: string, init: RequestInit = {}): Promise<Stream> {
  const gone = new AbortController();
  onTestFinished(() => gone.abort());
  const answer = await fetch(url, { ...init, signal: gone.signal });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  let text = '';
  let isOver = false;
  void (async () => {
    const decoder = new TextDecoder();
    for await (const part of answer.body ?? []) text += decoder.decode(part as Uint8Array, { stream: true });
  })()
    .catch(() => {})
    .finally(() => (isOver = true));
  const events: Stream['events'] = (type = 'log') =>
    text
      .split('\n\n')
      .flatMap(parse)
      .filter((event) => event.type === type);
  return {
    text: () => text,
    events,
    says: () => events().map(({ data }) => String(data.message)),
    isOver: () => isOver,
    close: () => gone.abort(),
  };
}

// --- internal ---

function parse(block: string): SseEvent[] {
  const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
  const [type, data] = [fields.get('event'), fields.get('data')];
  if (type === undefined || data === undefined) return [];
  return [{ id: fields.get('id'), type, data: JSON.parse(data) as Record<string, unknown> }];
}
