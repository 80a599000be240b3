import { describe, expect, test } from 'vitest';
import { pairToolCalls } from '../src/agents/model/messages.ts';
import { createMasker } from '../src/runs/mask.ts';
import { placeOf } from '../src/runs/run-error.ts';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { call, json, runWorkflow, setupBoxes } from './_setup.ts';

// Requests of an accepted size that once froze the process for seconds or minutes. What is asked of each here takes a
// fraction of a second; the limit leaves room for a busy machine and is far below what growth by the square would take.

const boxes = setupBoxes();
const LIMIT_MS = 8_000;
const KEY = { authorization: 'Bearer dev', 'x-api-key': 'dev' };
const agents = { helper: defineDeepAgent({ name: 'helper' }) };

async function within(work: () => unknown): Promise<void> {
  const begun = performance.now();
  await work();
  expect(performance.now() - begun).toBeLessThan(LIMIT_MS);
}

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

describe('the time a request takes grows as its size does', () => {
  test('of many answers of an assistant, one after the other', async () => {
    const box = await boxes.open({ agents });
    const messages = times(16_000, (n) => ({ role: n === 0 ? 'user' : 'assistant', content: 'x' }));
    const body = json({ model: 'helper', messages }, { headers: KEY });
    await within(async () => {
      const answer = await box.request('/wire-b/v1/messages/count_tokens', body);
      expect(answer.status).toBe(200);
    });
  });

  test('of many calls in one message', async () => {
    const ids = times(150_000, (n) => `c${n}`);
    const calls = ids.map((id) => ({ id, type: 'function' as const, function: { name: 't', arguments: '{}' } }));
    const results = ids.map((id) => ({ role: 'tool' as const, tool_call_id: id, content: '1' }));
    await within(() => {
      const twice = [...calls, ...calls];
      const paired = pairToolCalls([{ role: 'assistant', content: null, tool_calls: twice }, ...results]);
      expect(paired).toHaveLength(1 + ids.length);
    });
  });

  test('of the reason why a run failed, whatever its message is made of', async () => {
    const box = await boxes.open({
      workflows: { fail: { run: async ({ text }: { text: string }) => Promise.reject(new Error(text)) } },
    });
    for (const text of ['\n'.repeat(240_000), `\n    at ${'a/'.repeat(120_000)}`]) {
      const run = await runWorkflow(box, 'fail', { text });
      await within(async () => expect((await call(box, `GET /api/runs/${String(run.runId)}/why`)).status).toBe(200));
    }
  });

  test('of an export with as many secrets as values', async () => {
    const values = times(20_000, (n) => ({ token: `tok${String(n).padStart(6, '0')}` }));
    const texts = [...values.map(({ token }) => token), 'tok'.repeat(200_000), `${'a'.repeat(300_000)}c`];
    const masker = createMasker([`${'a'.repeat(100_000)}b`]);
    await within(() => {
      masker.learn(values);
      const shown = JSON.stringify(masker.mask({ values, texts }, 'run'));
      expect(shown).not.toMatch(/tok\d{6}/);
      expect(shown).toContain('"__masked_20000__"');
    });
  });

  test('of an export with more secrets than a document has', async () => {
    const masker = createMasker([]);
    const values = times(40_000, (n) => ({ token: `${n}`.padEnd(40, 'x') }));
    expect(() => masker.learn(values)).toThrow(expect.objectContaining({ code: 'run_too_large' }));
  });

  test('of an export of texts that look like addresses', async () => {
    const masker = createMasker([]);
    await within(() => masker.learn('a.'.repeat(200_000)));
    await within(() => masker.learn('a://'.repeat(100_000)));
  });
});

describe('what one request is made of', () => {
  const agent = () => boxes.open({ agents, workflows: { echo: { run: async (input: unknown) => input } } });
  const message = { role: 'user', content: 'x', id: 'm', parts: [] };

  test.each([
    ['/wire-a/v1/chat/completions', { model: 'helper' }],
    ['/wire-b/v1/messages', { model: 'helper', max_tokens: 9 }],
    ['/agui/v1/agents/helper', { threadId: 't', runId: 'r' }],
    ['/ui/v1/agents/helper', { id: 'c' }],
  ])('of messages and tools, %s takes so many', async (path, more) => {
    const box = await agent();
    const ask = async (body: object) => {
      const answer = await box.request(path, json({ ...more, messages: [message], ...body }, { headers: KEY }));
      return { status: answer.status, text: await answer.text() };
    };
    const many = await ask({ messages: times(20_001, () => 0) });
    expect(many).toMatchObject({ status: 400, text: expect.stringContaining('holds 20001; at most 20000 are taken.') });
    const tools = await ask({ tools: times(2_001, () => 0) });
    expect(tools).toMatchObject({ status: 400, text: expect.stringContaining('holds 2001; at most 2000 are taken.') });
  });

  test.each([
    ['objects and lists', { limit: 50_000, value: times(50_001, () => []) }],
    ['members', { limit: 50_000, value: times(12_501, () => ({ a: 0, b: 0, c: 0, d: 0 })) }],
    ['items', { limit: 500_000, value: times(500_003, () => 0) }],
  ])('of %s, a body holds so many', async (what, { limit, value }) => {
    const { status, body } = await call(await agent(), 'POST /api/workflows/echo/start', { value });
    expect([status, body]).toEqual([
      413,
      expect.objectContaining({
        code: 'payload_too_large',
        message: `The body has more than ${limit} ${what}, the most that are taken. Send less at once.`,
        details: { limit },
      }),
    ]);
  });

  test('what stands in texts is not counted', async () => {
    const text = '[{"a":1,"b":[]},'.repeat(30_000);
    expect((await call(await agent(), 'POST /api/workflows/echo/start', { text })).status).toBe(202);
  });
});

test('an address with a password is found wherever it stands', () => {
  const masker = createMasker([]);
  const text = 'see postgres://svc:hunter2hunter2@db:5432/x, a+b.c-d://u:secondsecond@h and ://u:thirdthird@h';
  masker.learn(text);
  expect(masker.mask(text, 'text')).toBe(
    'see postgres://svc:__masked_1__@db:5432/x, a+b.c-d://u:__masked_2__@h and ://u:thirdthird@h',
  );
});

test('the place of an error is the first line of its stack that lies in the project', () => {
  const stack =
    'Error: no\n    at node:internal/x/y:1:2\n    at go (workflows/refund.workflow.ts:12:7)\n    at lib/a.ts:3:1';
  expect(placeOf({ stack })).toBe('workflows/refund.workflow.ts:12');
  expect(placeOf({ stack: 'Error: no\n    at index.ts:3:1' })).toBeUndefined();
});
