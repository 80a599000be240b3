import type { Box } from '../src/box.ts';

export interface ChatStream {
  /** What has come so far. */
  text(): string;
  /** Resolves when the box ends the stream. */
  done: Promise<void>;
}

/** Resumes the stream of a workflow run after the event with that id. */
export async function readChat(box: Box, name: string, after: string): Promise<ChatStream> {
  const headers = { 'content-type': 'application/json', 'last-event-id': after };
  const response = await box.request(`/api/workflows/${name}/chat`, { method: 'POST', headers, body: '{}' });
  let text = '';
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const part of response.body ?? []) text += decoder.decode(part as Uint8Array, { stream: true });
  };
  return { text: () => text, done: read() };
}
