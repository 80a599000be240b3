import type OpenAI from 'openai';
import { expect, test } from 'vitest';
import { startProvider } from './_setup.ts';
import { ask, setupWires, streamed } from './_chat-completions.ts';

const { open } = setupWires();

type Token = OpenAI.ChatCompletionTokenLogprob;

const ASKED = { logprobs: true, top_logprobs: 2 };

const toToken = (token: string, logprob: number): Token => ({
  token,
  logprob,
  bytes: [...Buffer.from(token)],
  top_logprobs: [
    { token, logprob, bytes: null },
    { token: 'x', logprob: -9, bytes: null },
  ],
});
const frame = (choice: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
const say = (...tokens: Token[]): string =>
  frame({
    delta: { content: tokens.map(({ token }) => token).join('') },
    logprobs: { content: tokens, refusal: null },
  });
const CALL = { index: 0, id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } };

const [LET, ME, THREE, DOT] = [toToken('Let', -0.1), toToken(' me.', -0.2), toToken('Three', -0.3), toToken('.', -0.4)];

/** A provider that says something before and after a tool of the box, and what it thinks of each token. */
async function openTalkative() {
  let rounds = 0;
  const provider = await startProvider((response) => {
    rounds += 1;
    const text =
      rounds % 2 === 1
        ? say(LET, ME) + frame({ delta: { tool_calls: [CALL] } }) + frame({ delta: {}, finish_reason: 'tool_calls' })
        : say(THREE) + say(DOT) + frame({ delta: {}, finish_reason: 'stop' });
    response.setHeader('content-type', 'text/event-stream').end(`${text}data: [DONE]\n\n`);
  });
  return open({ provider: { baseUrl: provider.url } });
}

test('what the provider says of its tokens comes with the text, over all model calls of the turn', async () => {
  const wire = await openTalkative();
  const { choices } = await ask(wire, 'hi', ASKED);
  expect(choices[0]?.message.content).toBe('Let me.Three.');
  expect(choices[0]?.logprobs).toEqual({ content: [LET, ME, THREE, DOT], refusal: null });

  const chunks = await streamed(wire, 'hi', ASKED);
  const said = chunks.flatMap(({ choices: [choice] }) =>
    choice?.delta.content ? [[choice.delta.content, choice.logprobs?.content]] : [],
  );
  expect(said).toEqual([
    ['Let me.', [LET, ME]],
    ['Three', [THREE]],
    ['.', [DOT]],
  ]);
  expect(chunks.at(-1)?.choices[0]?.logprobs).toBeNull();
});

test('a client that does not ask gets nothing of tokens, also of a provider that says it', async () => {
  const wire = await openTalkative();
  expect((await ask(wire, 'hi')).choices[0]).toMatchObject({ message: { content: 'Let me.Three.' }, logprobs: null });
  const chunks = await streamed(wire, 'hi', { logprobs: false });
  expect(chunks.filter(({ choices }) => choices[0]?.logprobs)).toEqual([]);
});

test('an answer that is replayed under its key has none: they are not recorded', async () => {
  const wire = await openTalkative();
  const keyed = { headers: { 'idempotency-key': 'k' } };
  const body = { model: 'helper', messages: [{ role: 'user' as const, content: 'hi' }], ...ASKED };
  const received = [];
  for (let n = 0; n < 2; n++) received.push(await wire.openai.chat.completions.create(body, keyed));
  expect(received.map(({ choices }) => choices[0]?.logprobs?.content?.length)).toEqual([4, undefined]);
  expect(received[1]?.choices[0]?.message.content).toBe('Let me.Three.');
});

test('a provider that says more of its tokens than is held fails the turn', async () => {
  const long = toToken('y'.repeat(4_000_000), -1);
  const provider = await startProvider((response) => {
    response.setHeader('content-type', 'text/event-stream').write(frame({ delta: { content: 'y' } }));
    for (let n = 0; n < 5; n++)
      response.write(frame({ delta: {}, logprobs: { content: [{ ...long, bytes: null, top_logprobs: [] }] } }));
    response.end(frame({ delta: {}, finish_reason: 'stop' }) + 'data: [DONE]\n\n');
  });
  const wire = await open({ provider: { baseUrl: provider.url } });
  await expect(ask(wire, 'hi', ASKED)).rejects.toMatchObject({ code: 'result_too_large' });
});
