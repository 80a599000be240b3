import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { operatorToken } from '../src/auth/strategy.ts';
import { signUserToken } from '../src/client.ts';
import { svc } from '../src/svc.ts';
import { call, json, setupBoxes, startProvider, toModelStream, toStep, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

// What whoever has a key with a budget may try to use more, on a box of its own over HTTP.

const boxes = setupBoxes();
const TOKEN = 'the-token-of-the-operator';
const CALLS = 12;

const ask = async () => (await svc.ai.chat({ prompt: 'say:hello' })).text;
const askOften = async (times = CALLS) => {
  const answers: string[] = [];
  for (let n = 0; n < times; n++) answers.push(await ask());
  return answers.length;
};
const inStep = toStep('inStep', askOften);
const oneStep = toStep('oneStep', ask);
const thinker = defineDeepAgent({
  name: 'thinker',
  tools: {
    think: defineTool({ description: 'Think.', inputSchema: z.object({}), execute: async () => askOften() }),
  },
});

const refund = defineTool({ description: 'Refund.', inputSchema: z.object({}), execute: () => 'done' });
/** Whose calls wait for the client itself. */
const asker = defineDeepAgent({ name: 'asker', tools: { refund }, interruptOn: { refund: { by: 'user' } } });
const shared = boxes.share({
  agents: { thinker, asker },
  workflows: {
    body: { run: async () => askOften() },
    step: { run: async () => inStep() },
    steps: {
      run: async () => {
        for (let n = 0; n < CALLS; n++) await oneStep();
      },
    },
    atOnce: { run: async () => Promise.all(Array.from({ length: 4 }, () => inStep())) },
    bodyAtOnce: { run: async () => Promise.all(Array.from({ length: 4 }, ask)) },
    embedsAtOnce: {
      run: async () =>
        Promise.all(Array.from({ length: 4 }, () => svc.ai.embed({ input: 'text', model: 'test/embedding' }))),
    },
    agentsAtOnce: {
      run: async () =>
        Promise.allSettled(Array.from({ length: 4 }, async () => svc.agent('asker').session().send('say:hi'))),
    },
    retried: { run: async () => inStep().catch(() => inStep()) },
    child: { run: async () => svc.workflows.startAndWait('step', {}) },
    embeds: {
      run: async () => {
        for (let n = 0; n < CALLS; n++) await svc.ai.embed({ input: 'text', model: 'test/embedding' });
      },
    },
    agent: { run: async () => (await svc.agent('thinker').session().send('tool:think {}; say:Done.')).text },
    talk: { run: async () => askOften(), mode: 'chat' },
    burst: { debounce: { period: '50ms' }, run: async () => inStep() },
  },
  options: { host: 'image', strategy: operatorToken(TOKEN) },
});

interface Key {
  id: string;
  value: string;
}

const as = (value: string, more: Record<string, string> = {}) => ({ authorization: `Bearer ${value}`, ...more });
const makeKey = async (limits: object, more: object = {}): Promise<Key> => {
  const body = { name: 'shop', grants: { agents: 'all', workflows: 'all' }, limits, ...more };
  return (await call<Key>(await shared(), 'POST /api/keys', body, as(TOKEN))).body;
};
/** Calls of models while it was done. */
const costOf = async (work: () => Promise<unknown>): Promise<number> => {
  const count = () => boxes.model.requests.length + boxes.model.embedRequests.length;
  const before = count();
  await work();
  return count() - before;
};
const finishAs = async (box: TestBox, name: string, headers: Record<string, string>): Promise<unknown> => {
  const { body } = await call(box, `POST /api/workflows/${name}/start`, {}, headers);
  if (body.runId === undefined) {
    const read = async () =>
      (await call(box, `GET /api/workflows/${name}/queue/${body.triggerId}`, undefined, headers)).body;
    await until(async () => ['failed', 'completed'].includes(String((await read()).status)));
    return;
  }
  return (await call(box, `GET /api/runs/${body.runId}?wait=20s`, undefined, headers)).body;
};

describe('a budget that one call uses up', () => {
  test.each(['body', 'step', 'steps', 'child', 'retried', 'embeds', 'burst'])(
    'ends what its key has asked of a model in a workflow (%s)',
    async (name) => {
      const key = await makeKey({ tokensPerDay: 1 });
      const box = await shared();
      expect(await costOf(() => finishAs(box, name, as(key.value)))).toBe(1);
      expect(await costOf(() => finishAs(box, name, as(key.value)))).toBe(0);
    },
  );
  test('ends each of the steps that go on at once', async () => {
    const box = await shared();
    for (const name of ['atOnce', 'bodyAtOnce', 'embedsAtOnce', 'agentsAtOnce']) {
      const key = await makeKey({ tokensPerDay: 1 });
      expect([name, await costOf(() => finishAs(box, name, as(key.value)))]).toEqual([name, 1]);
    }
  });

  test('ends turns that are asked for at once, on any wire, and starts at once', async () => {
    const url = await (await shared()).listen();
    const key = await makeKey({ tokensPerDay: 1 });
    const messages = [{ role: 'user', content: 'say:hello' }];
    const asked: [path: string, body: object][] = [
      ['/wire-a/v1/chat/completions', { model: 'asker', messages }],
      ['/wire-b/v1/messages', { model: 'asker', max_tokens: 9, messages }],
      ['/wire-a/v1/chat/completions', { model: 'asker', messages, stream: true }],
    ];
    const all = [...asked, ...asked].map(async ([path, body]) =>
      (await fetch(url + path, json(body, { headers: as(key.value) }))).text(),
    );
    const answers: string[] = [];
    expect(await costOf(async () => void answers.push(...(await Promise.all(all))))).toBe(1);
    expect(answers.filter((text) => text.includes('budget_exceeded'))).toHaveLength(5);
    const other = await makeKey({ tokensPerDay: 1 });
    const box = await shared();
    const starts = () => Promise.all([1, 2, 3, 4].map(() => finishAs(box, 'step', as(other.value))));
    expect(await costOf(starts)).toBe(1);
  });

  test('is not used up by what calls might have used', async () => {
    const key = await makeKey({ tokensPerDay: 5_000 });
    const box = await shared();
    // Each is taken to use hundreds of tokens until it has ended.
    for (let n = 0; n < 4; n++)
      expect(await finishAs(box, 'body', as(key.value))).toMatchObject({ status: 'completed' });
  });

  test('ends what the tools of an agent ask', async () => {
    const key = await makeKey({ tokensPerDay: 1 });
    const box = await shared();
    // The turn has begun, and answers.
    expect(await costOf(() => finishAs(box, 'agent', as(key.value)))).toBe(2);
  });

  test('is the key’s for each user it names, and for each token of one', async () => {
    const key = await makeKey({ tokensPerDay: 1 }, { users: true });
    const box = await shared();
    const users = ['ada', 'ADA', 'ada%20', 'ada/..', '%2F', 'key:1', 'x'.repeat(256)];
    const asUsers = async () => {
      for (const user of users) await finishAs(box, 'step', as(key.value, { 'x-svc-user': user }));
      await finishAs(box, 'step', as(await signUserToken(key as never, { sub: 'eve' })));
    };
    expect(await costOf(asUsers)).toBe(1);
  });

  test('is used up for every wire, and for workflows that talk', async () => {
    const key = await makeKey({ tokensPerDay: 1 });
    const box = await shared();
    await finishAs(box, 'step', as(key.value));
    const url = await box.listen();
    const message = { role: 'user', content: 'say:hello' };
    const messages = [message];
    const thread = { threadId: 't', runId: 'r', messages: [{ id: 'm', ...message }] };
    const parts = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'say:hello' }] }];
    const asked: [path: string, body: object, more?: Record<string, string>][] = [
      ['/wire-a/v1/chat/completions', { model: 'thinker', messages }],
      ['/wire-a/v1/chat/completions', { model: 'thinker', messages, stream: true }],
      ['/wire-a/v1/chat/completions', { model: 'thinker', messages }, { 'x-svc-session': 'another' }],
      ['/wire-b/v1/messages', { model: 'thinker', max_tokens: 9, messages }],
      ['/agui/v1/agents/thinker', thread],
      ['/ui/v1/agents/thinker', { id: 'c', messages: parts }],
      ['/api/workflows/talk/chat', { messages: parts }],
    ];
    const askAll = async () => {
      for (const [path, body, more] of asked) {
        const answer = await fetch(url + path, json(body, { headers: as(key.value, more) }));
        expect([path, await answer.text()]).toEqual([path, expect.stringContaining('budget_exceeded')]);
      }
    };
    expect(await costOf(askAll)).toBe(0);
  });

  test('is used up for starts from before that have waited, and for who repeats its runs', async () => {
    const key = await makeKey({ tokensPerDay: 1 });
    const box = await shared();
    const later = await call(box, 'POST /api/workflows/step/start', {}, as(key.value, { 'x-svc-delay': '800ms' }));
    const { body: first } = await call(box, 'POST /api/workflows/step/start', {}, as(key.value));
    await call(box, `GET /api/runs/${first.runId}?wait=20s`, undefined, as(key.value));
    const waited = async () => {
      const path = `GET /api/workflows/step/queue/${later.body.triggerId}`;
      await until(async () => (await call(box, path, undefined, as(key.value))).body.status === 'failed');
      const { body } = await call(box, `POST /api/runs/${first.runId}/retry`, { from: 'start' }, as(TOKEN));
      await call(box, `GET /api/runs/${body.runId}?wait=20s`, undefined, as(TOKEN));
    };
    expect(await costOf(waited)).toBe(0);
  });
});

describe('turns that wait for their client', () => {
  const agui = async (key: Key, threadId: string, more: object) => {
    const body = { threadId, runId: 'r', messages: [], ...more };
    const answer = await fetch(
      `${await (await shared()).listen()}/agui/v1/agents/asker`,
      json(body, { headers: as(key.value) }),
    );
    return { status: answer.status, text: await answer.text() };
  };
  /** Answers how to go on with it. */
  const pause = async (key: Key, threadId: string): Promise<object> => {
    const messages = [{ id: 'm', role: 'user', content: 'tool:refund {}; delay:100; chunks:20' }];
    const { text } = await agui(key, threadId, { messages });
    const interruptId = /"interrupts":\[\{"id":"([^"]+)"/.exec(text)?.[1] ?? '';
    return { resume: [{ interruptId, status: 'resolved', payload: { decision: 'approve' } }] };
  };

  test('do not go on all at once where the key may have one under way', async () => {
    const key = await makeKey({ concurrentTurns: 1 });
    const threads = ['a', 'b', 'c'];
    const answers: object[] = [];
    for (const thread of threads) answers.push(await pause(key, thread));
    // Each twice: what repeats an answer gives no place back.
    const twice = [...threads, ...threads];
    const said = await Promise.all(twice.map((thread, n) => agui(key, thread, answers[n % 3] as object)));
    const goingOn = new Set(said.flatMap(({ status }, n) => (status === 429 ? [] : [n % 3])));
    expect(goingOn.size).toBe(1);
    // They wait on, and go on one by one.
    for (const [n, thread] of threads.entries())
      if (!goingOn.has(n))
        await until(async () => (await agui(key, thread, answers[n] as object)).status === 200, 30_000);
  });

  test('do not go on once its budget is used up', async () => {
    const key = await makeKey({ tokensPerDay: 100_000 });
    const answers = [await pause(key, 'a'), await pause(key, 'b')];
    await call(await shared(), `PATCH /api/keys/${key.id}`, { limits: { tokensPerDay: 1 } }, as(TOKEN));
    const goOn = async () => {
      for (const [n, thread] of ['a', 'b'].entries())
        expect((await agui(key, thread, answers[n] as object)).text).toContain('budget_exceeded');
    };
    expect(await costOf(goOn)).toBe(0);
  });
});

test.each([0, -1, 0.5, 1e99, '1', true, [], { day: 1 }])('%j is no budget', async (tokensPerDay) => {
  const body = { name: 'shop', grants: { workflows: 'all' }, limits: { tokensPerDay } };
  expect((await call(await shared(), 'POST /api/keys', body, as(TOKEN))).status).toBe(400);
});

describe('a turn whose usage the provider does not report', () => {
  const talk = (url: string, key: Key, content: string, signal?: AbortSignal) =>
    fetch(
      `${url}/wire-a/v1/chat/completions`,
      json(
        { model: 'asker', stream: true, messages: [{ role: 'user', content }] },
        { headers: as(key.value), ...(signal ? { signal } : {}) },
      ),
    );

  test('as its client goes before the end, counts all the same', async () => {
    const url = await (await shared()).listen();
    const key = await makeKey({ tokensPerDay: 100 });
    const long = `say:${'word '.repeat(400)}`;
    const goAway = async () => {
      const gone = new AbortController();
      const answer = await talk(url, key, `delay:5; ${long}`, gone.signal).catch(() => undefined);
      const reader = answer?.body?.getReader();
      await reader?.read().catch(() => {});
      gone.abort();
      await reader?.read().catch(() => {});
    };
    const cost = await costOf(async () => {
      for (let n = 0; n < 8; n++) await goAway();
    });
    expect(cost).toBeLessThan(4);
  });

  test('as its provider says nothing of it, counts all the same', async () => {
    let calls = 0;
    const provider = await startProvider((response) => {
      calls++;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(toModelStream([{ role: 'assistant', content: 'word '.repeat(400) }]));
    });
    const box = await boxes.open({
      agents: { asker },
      provider: { baseUrl: provider.url, apiKey: 'key' },
      options: { host: 'image', strategy: operatorToken(TOKEN) },
    });
    const url = await box.listen();
    const body = { name: 'shop', grants: { agents: 'all', workflows: [] }, limits: { tokensPerDay: 100 } };
    const key = (await call<Key>(box, 'POST /api/keys', body, as(TOKEN))).body;
    for (let n = 0; n < 8; n++) await (await talk(url, key, 'hello')).text();
    expect(calls).toBeLessThan(4);
  });
});

describe('what a client changes about its requests', () => {
  const messages = [{ role: 'user', content: 'say:hello' }];
  const send = async (path: string, body: object, headers: Record<string, string>, method = 'POST') => {
    const answer = await fetch(`${await (await shared()).listen()}${path}`, json(body, { method, headers }));
    return { status: answer.status, text: await answer.text() };
  };
  const chat = (headers: Record<string, string>, more: object = {}) =>
    send('/wire-a/v1/chat/completions', { model: 'asker', messages, ...more }, headers);

  test('gives it no more requests a minute: neither another header, another wire, nor one that is refused', async () => {
    const key = await makeKey({ requestsPerMinute: 6 }, { users: true });
    const ways = [
      await chat(as(key.value)),
      await send('/wire-b/v1/messages/count_tokens', { model: 'asker', messages }, { 'x-api-key': key.value }),
      await chat(as(key.value, { 'x-svc-user': 'ada' })),
      await chat(as(await signUserToken(key as never, { sub: 'bob' }))),
      await chat(as(key.value), { model: 'nobody' }),
      await send('/api/workflows/nothing/start', {}, as(key.value)),
    ];
    expect(ways.filter(({ status }) => status === 429)).toEqual([]);
    for (const [n, more] of [
      {},
      { 'x-svc-user': 'eve' },
      { 'x-forwarded-for': '198.51.100.7' },
      { 'x-api-key': key.value },
      { 'idempotency-key': 'another' },
    ].entries())
      expect([n, (await chat(as(key.value, more as Record<string, string>))).status]).toEqual([n, 429]);
  });

  test('asks for no more answers at once than one', async () => {
    const key = await makeKey({ tokensPerDay: 1 });
    const cost = await costOf(async () => {
      for (const more of [{ n: 100 }, { best_of: 50 }, { models: ['a', 'b'] }, { fallbacks: ['a'] }, { echo: true }])
        await chat(as(key.value), more);
    });
    expect(cost).toBeLessThanOrEqual(1);
  });

  test('neither spends what is another user’s, nor has what that one has left', async () => {
    const key = await makeKey({ users: { tokensPerDay: 1 } }, { users: true });
    const one = (user: string) => chat(as(key.value, { 'x-svc-user': user }));
    expect((await one('ada')).status).toBe(200);
    await until(async () => (await one('ada')).status === 429);
    for (const user of ['bob', 'Ada', 'ada/', 'ada%2F', 'ada%20'])
      expect([user, (await one(user)).status]).toEqual([user, 200]);
    expect((await one('ada')).status).toBe(429);
  });

  test('does not free it of what a turn has used that it stops, or that an operator cancels', async () => {
    const url = await (await shared()).listen();
    const long = { role: 'user', content: `delay:400; say:${'word '.repeat(400)}` };
    const stop: Record<string, (name: string, key: Key) => Promise<unknown>> = {
      'over AG-UI': (name, key) =>
        fetch(`${url}/agui/v1/agents/asker/${name}/stream`, { method: 'DELETE', headers: as(key.value) }),
      'as a page': (name, key) =>
        fetch(`${url}/ui/v1/agents/asker/${name}/stream`, { method: 'DELETE', headers: as(key.value) }),
      'by an operator': async () => {
        const box = await shared();
        const { body } = await call<{ items: { runId: string }[] }>(box, 'GET /api/runs?limit=1', undefined, as(TOKEN));
        return call(box, `POST /api/runs/${body.items[0]?.runId}/cancel`, {}, as(TOKEN));
      },
    };
    for (const [how, end] of Object.entries(stop)) {
      const key = await makeKey({ tokensPerDay: 100 });
      const name = `stopped ${how}`.replaceAll(' ', '-');
      const cost = await costOf(async () => {
        for (let n = 0; n < 4; n++) {
          const before = boxes.model.requests.length;
          const session = { 'x-svc-session': name };
          const going = send(
            '/wire-a/v1/chat/completions',
            { model: 'asker', messages: [long] },
            as(key.value, session),
          );
          let isOver = false;
          void going.then(() => (isOver = true));
          await until(() => isOver || boxes.model.requests.length > before);
          if (!isOver) await end(name, key);
          await going;
        }
      });
      expect([how, cost <= 2]).toEqual([how, true]);
    }
  });

  test('repeats no answer for free that it has not asked for', async () => {
    const key = await makeKey({ tokensPerDay: 1 });
    const once = { 'idempotency-key': 'the-same' };
    const cost = await costOf(async () => {
      expect((await chat(as(key.value, once))).status).toBe(200);
      // The same is answered again, and another is not asked under its key.
      for (const more of [{}, { temperature: 0.1 }, { messages: [{ role: 'user', content: 'say:other' }] }])
        await chat(as(key.value, once), more);
    });
    expect(cost).toBe(1);
  });
});
