// @ts-check
/**
 * A model provider that costs as little as one can: fixed streams, chosen by the last word of the last message.
 *   short  three chunks        long  1,000 chunks        tool  a call of `look`, and text once it has its result
 *   slow   the first of three chunks, and a second later the rest
 */
import { createServer } from 'node:http';
import { serve } from './_child.mjs';

const frame = (/** @type {object} */ delta, /** @type {string | null} */ finish = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const END = `${frame({}, 'stop')}data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 } })}\n\ndata: [DONE]\n\n`;
const SHORT =
  frame({ role: 'assistant', content: '' }) + frame({ content: 'Hello' }) + frame({ content: ' there.' }) + END;
const CALL = { index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"it"}' } };
const TOOL = frame({ role: 'assistant', tool_calls: [CALL] }) + END.replace('"stop"', '"tool_calls"');
const CHUNK = frame({ content: 'word ' });

const server = createServer(async (request, response) => {
  let text = '';
  for await (const part of request.setEncoding('utf8')) text += part;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const hasResult = text.includes('"role":"tool"');
  if (text.includes('please long')) {
    response.write(frame({ role: 'assistant', content: '' }));
    for (let n = 0; n < 1_000; n += 50) response.write(CHUNK.repeat(50));
    response.end(END);
  } else if (text.includes('please slow')) {
    response.write(frame({ role: 'assistant', content: 'Hello' }));
    setTimeout(() => response.end(END), 1_000);
  } else response.end(text.includes('please tool') && !hasResult ? TOOL : SHORT);
});

serve({
  open: () =>
    new Promise((resolve) =>
      server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${/** @type {any} */ (server.address()).port}/v1`)),
    ),
});
