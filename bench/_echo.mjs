// @ts-check
import { once } from 'node:events';
import { createServer } from 'node:http';

/**
 * A model that answers with the instructions it was given: an edit of an agent shows in the answer, and a turn takes
 * as little as a turn can.
 * @returns {Promise<{ url: string, close(): Promise<void> }>}
 */
export async function startEchoModel() {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end([...chunksOf(JSON.parse(body).messages), '[DONE]'].map((data) => `data: ${data}\n\n`).join(''));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}/v1`,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

// --- internal ---

/** @param {{ role: string, content: string }[]} messages */
function chunksOf(messages) {
  const content = messages.find(({ role }) => role === 'system')?.content;
  const choices = [
    { index: 0, delta: { role: 'assistant', content }, finish_reason: null },
    { index: 0, delta: {}, finish_reason: 'stop' },
  ];
  const head = { id: 'chatcmpl-echo', object: 'chat.completion.chunk', created: 0, model: 'echo' };
  return choices.map((choice) => JSON.stringify({ ...head, choices: [choice] }));
}
