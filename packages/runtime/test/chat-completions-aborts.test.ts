import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { json, startProvider, until } from './_setup.ts';
import { ask, KEY, user, whenRunsAre, setupWires } from './_chat-completions.ts';

const { open } = setupWires();

describe('a client that goes away', () => {
  const rows = [
    ['before the first word of a stream', 0, true],
    ['in the middle of a stream', 1, true],
    ['while it waits for the whole answer', 1, false],
  ] as const;
  test.each(rows)('%s cancels the turn and drops the request to the provider', async (_title, words, stream) => {
    const endless = await startProvider((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      const choices = [{ index: 0, delta: { content: 'word ' }, finish_reason: null }];
      if (words) response.write(`data: ${JSON.stringify({ choices })}\n\n`);
    });
    const wire = await open({ provider: { baseUrl: endless.url } });
    const abort = new AbortController();
    const answer = fetch(`${wire.url}/chat/completions`, {
      ...json({ model: 'helper', messages: user('hi'), stream }, { headers: KEY }),
      signal: abort.signal,
    });
    if (words && stream) await (await answer).body?.getReader().read();
    await until(() => endless.open() === 1);
    abort.abort();
    await answer.catch(() => {});
    await until(() => endless.open() === 0);
    await whenRunsAre(wire, 'cancelled');
    expect(wire.box.logs).toEqual([]);
  });

  test('also when only the body of its answer is dropped', async () => {
    const wire = await open();
    const body = { model: 'helper', messages: user('chunks:500; delay:20'), stream: true };
    const answer = await wire.box.request('/wire-a/v1/chat/completions', json(body, { headers: KEY }));
    await answer.body?.cancel();
    await whenRunsAre(wire, 'cancelled');
  });

  test('is signalled to a tool that is running, and the run ends cancelled', async () => {
    let state = 'not begun';
    const wait = defineTool({
      description: 'Waits.',
      inputSchema: z.object({}),
      async execute(_input, { signal }) {
        state = 'running';
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        state = 'aborted';
      },
    });
    const wire = await open({ agents: { helper: defineDeepAgent({ name: 'helper', tools: { wait } }) } });
    const abort = new AbortController();
    const stream = await wire.openai.chat.completions.create(
      { model: 'helper', messages: user('tool:wait {}; say:never'), stream: true },
      { signal: abort.signal },
    );
    await until(() => state === 'running');
    abort.abort();
    await stream[Symbol.asyncIterator]()
      .next()
      .catch(() => {});
    await until(() => state === 'aborted');
    await whenRunsAre(wire, 'cancelled');
  });

  test('and one that stays is not disturbed', async () => {
    const wire = await open();
    const abort = new AbortController();
    const leaving = ask(wire, 'hang').catch(() => {});
    const gone = wire.openai.chat.completions
      .create({ model: 'helper', messages: user('hang') }, { signal: abort.signal })
      .catch(() => 'gone');
    await until(() => wire.asked().length === 2);
    abort.abort();
    expect(await gone).toBe('gone');
    expect((await ask(wire, 'say:still here')).choices[0]?.message.content).toBe('still here');
    await wire.box.close();
    await leaving;
  });
});

test('a box that closes notifies the clients it leaves behind', async () => {
  const wire = await open();
  const answer = fetch(
    `${wire.url}/chat/completions`,
    json({ model: 'helper', messages: user('hang') }, { headers: KEY }),
  );
  await until(() => wire.asked().length === 1);
  await wire.box.close();
  expect((await answer).status).toBe(503);
  expect(await (await answer).json()).toMatchObject({ error: { code: 'shutting_down' } });
});
