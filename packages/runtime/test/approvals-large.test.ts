import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool, requestApproval } from '../src/index.ts';
import type { HookStore } from '../src/engine/journal/hooks.ts';
import { describeOnBoth } from './_both.ts';
import { call, json, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const MEBIBYTE = 1_048_576;
const MANY = 50;
/** What a list may read and answer of one that is large. */
const LISTED = 8_192;

interface Listed {
  approvalId: string;
  runId: string;
  payload: unknown;
  argsDigest: string | null;
  cut: string[];
}

/** Counts what the store answers to those who read hooks. */
function countRead({ journal: { hooks } }: TestBox): () => number {
  let bytes = 0;
  const count = <T>(answer: T): T => {
    bytes += Buffer.byteLength(JSON.stringify(answer) ?? '');
    return answer;
  };
  const readers = ['find', 'listEntries', 'listBriefEntries'] as const;
  const counted = Object.fromEntries(
    readers.map((name) => {
      const read = hooks[name].bind(hooks) as (...given: unknown[]) => Promise<unknown>;
      return [name, async (...given: unknown[]) => count(await read(...given))];
    }),
  );
  Object.assign(hooks, counted as Partial<HookStore>);
  return () => bytes;
}

const list = async (box: TestBox, query = ''): Promise<Listed[]> =>
  (await call<{ items: Listed[] }>(box, `GET /api/approvals?status=pending&limit=200${query}`)).body.items;

describeOnBoth(boxes, 'approvals of a mebibyte', (open) => {
  test('are listed by a few kilobytes each, and read whole by their ids', async () => {
    const text = 'x'.repeat(MEBIBYTE);
    const run = ({ n }: { n: number }) => requestApproval({ title: `Send ${n}?`, payload: { n, text } });
    const box = await open({ workflows: { ask: { run } } });
    for (let n = 0; n < MANY; n += 1) await call(box, 'POST /api/workflows/ask/start', { n });
    const read = countRead(box);
    await until(async () => (await list(box)).length === MANY, 60_000);
    const before = read();
    const answer = await (await box.request('/api/approvals?status=pending&limit=200')).text();
    expect(read() - before).toBeLessThan(MANY * LISTED);
    expect(read() - before).toBeGreaterThan(MANY * 500);
    expect(answer.length).toBeLessThan(MANY * LISTED);
    const [one] = await list(box);
    expect(one).toMatchObject({ cut: ['payload'], payload: expect.stringMatching(/^\{"n":\d+,"text":"x{400,}…$/) });
    const whole = await call<Listed>(box, `GET /api/approvals/${one?.approvalId}`);
    expect(whole.body.payload).toMatchObject({ text });
  });

  test('are decided by what they are about, which a list has the digest of', async () => {
    const send = defineTool({ description: 'Sends.', inputSchema: z.object({ text: z.string() }), execute: () => 1 });
    const helper = defineDeepAgent({ name: 'helper', tools: { send }, interruptOn: { send: true } });
    const box = await open({ agents: { helper } });
    const args = { text: 'y'.repeat(100_000) };
    const content = `tool:send ${JSON.stringify(args)}; say:Done.`;
    const asked = { threadId: 'one', runId: 'first', messages: [{ id: 'm', role: 'user', content }] };
    const given = { ...asked, tools: [], context: [], state: {}, forwardedProps: {} };
    const headers = { authorization: 'Bearer dev', 'idempotency-key': 'one' };
    // A client is told all of it, and so is one that asks again.
    for (let n = 0; n < 2; n += 1) {
      const answer = await box.request('/agui/v1/agents/helper', json(given, { headers }));
      const last = (await answer.text()).trim().split('\n').at(-1) ?? '';
      expect(JSON.parse(last.slice('data: '.length))).toMatchObject({
        type: 'RUN_FINISHED',
        outcome: { interrupts: [{ metadata: { svc: { tool: 'send', arguments: args } } }] },
      });
    }
    const [one] = await list(box);
    expect(one).toMatchObject({ cut: ['payload'], argsDigest: expect.stringMatching(/^[\da-f]{64}$/) });
    const whole = await call<Listed>(box, `GET /api/approvals/${one?.approvalId}`);
    expect(whole.body).toMatchObject({ argsDigest: one?.argsDigest, payload: { arguments: args } });
    const decision = { decision: 'approve', argsDigest: one?.argsDigest };
    expect(await call(box, `POST /api/approvals/${one?.approvalId}/decide`, decision)).toMatchObject({ status: 200 });
  });
});
