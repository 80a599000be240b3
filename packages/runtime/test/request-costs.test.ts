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
    const messages = times(80_000, (n) => ({ role: n === 0 ? 'user' : 'assistant', content: 'x' }));
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
