import { describe, expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import type { InterruptPolicy } from '../src/definitions/agent.ts';
import { call, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { createAgent, say, serveAgui, setupAgui, toldModel } from './_agui.ts';

const boxes = setupAgui();

/** A box with one call that waits, and how to decide it. */
async function ask(tool: string) {
  const { box, client, calls } = await boxes.openAgui();
  const received = await say(client('thread'), `tool:${tool} {"order":"A-1","amount":5}; say:Done.`);
  const [{ id } = { id: '' }] = received.interrupts;
  return { box, calls, id, decide: (body: unknown) => call(box, `POST /api/approvals/${id}/decide`, body) };
}
const get = async (box: TestBox, id: string) => (await call(box, `GET /api/approvals/${id}`)).body;
const list = async (box: TestBox, query: string) =>
  (await call<{ items: { approvalId: string }[] }>(box, `GET /api/approvals?${query}`)).body.items;

describe('the approval of a tool call', () => {
  test('says what is asked, of which session, and is listed by its source', async () => {
    const { box, id } = await ask('refund');
    const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
    expect(await get(box, id)).toMatchObject({
      approvalId: id,
      source: 'tool',
      runId: run?.runId,
      sessionId: run?.sessionId,
      title: 'Run "refund"?',
      payload: { tool: 'refund', arguments: { order: 'A-1', amount: 5 } },
      allow: ['approve', 'edit', 'reject'],
      status: 'pending',
      audit: [{ action: 'asked', by: null }],
    });
    // With the schema of what takes the arguments, in the one alone and not in lists.
    expect((await get(box, id)).inputSchema).toMatchObject({
      type: 'object',
      properties: { order: { type: 'string' }, amount: { type: 'number', maximum: 100 } },
    });
    expect((await list(box, 'source=tool'))[0]).not.toHaveProperty('inputSchema');
    for (const query of ['source=tool', 'status=pending', `run=${run?.runId}&limit=1`])
      expect(await list(box, query)).toMatchObject([{ approvalId: id }]);
    expect(await list(box, 'source=workflow')).toEqual([]);
  });

  test('runs the tool with the arguments a person gives, once they fit its schema', async () => {
    const { box, calls, id, decide } = await ask('refund');
    expect(await decide({ decision: 'approve', input: { order: 'A-1', amount: 500 } })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', details: { issues: [{ path: ['amount'], message: expect.any(String) }] } },
    });
    expect((await get(box, id)).status).toBe('pending');
    expect((await decide({ decision: 'approve', input: { order: 'A-1', amount: 7 } })).status).toBe(200);
    await until(() => calls.length === 1);
    expect(calls).toMatchObject([{ input: { amount: 7 } }]);
    expect(await get(box, id)).toMatchObject({
      audit: [{ action: 'asked' }, { action: 'edit', by: 'owner' }],
      payload: { arguments: { amount: 5 } },
      input: { order: 'A-1', amount: 7 },
    });
    expect(await decide({ decision: 'reject' })).toMatchObject({ status: 409, body: { code: 'already_decided' } });
  });

  test.each([
    ['text', [[]]],
    [{}, [['file_path'], ['content']]],
    [{ file_path: 5, content: 'x' }, [['file_path']]],
  ])('of a tool that the box brings refuses the arguments %j, and still waits', async (input, paths) => {
    const helper = defineDeepAgent({ name: 'helper', files: true, interruptOn: { write_file: true } });
    const { box, client } = await boxes.openAgui({ agents: { helper } });
    const received = await say(client('files'), 'tool:write_file {"file_path":"a","content":"x"}; say:Done.');
    const [{ id } = { id: '' }] = received.interrupts;
    const decide = (body: unknown) => call(box, `POST /api/approvals/${id}/decide`, body);
    expect(await decide({ decision: 'approve', input })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', details: { issues: paths.map((path) => ({ path })) } },
    });
    expect((await decide({ decision: 'approve', input: { file_path: 'b', content: 'y' } })).status).toBe(200);
    await until(() => toldModel(box).at(-1)?.role === 'tool');
    expect(toldModel(box).at(-1)?.content).toContain('b');
  });

  test.each([
    ['charge', { decision: 'approve', input: { order: 'A-1', amount: 1 } }, ['approve', 'reject']],
    ['gift', { decision: 'reject' }, ['approve', 'edit']],
  ])('of %s refuses what its policy does not allow', async (tool, decision, allow) => {
    const { calls, decide } = await ask(tool);
    expect(await decide(decision)).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', details: { allow } },
    });
    expect((await decide({ decision: 'approve' })).status).toBe(200);
    await until(() => calls.length === 1);
  });

  test('is decided by its fallback when no one does in time', async () => {
    const { box, calls, id } = await ask('hurry');
    await until(() => calls.length === 1);
    expect(await get(box, id)).toMatchObject({ status: 'expired', decision: 'approve', decidedBy: null });
    await until(() => toldModel(box).at(-1)?.role === 'tool');
  });
});

describe('the title of an approval that is a function', () => {
  const withTitle = (title: InterruptPolicy['title']) =>
    defineDeepAgent({ ...(createAgent() as object), name: 'helper', interruptOn: { refund: { title } } } as never);
  const openWith = async (title: InterruptPolicy['title'], order = 'A-1') => {
    const { box, client } = await boxes.openAgui({ agents: { helper: withTitle(title) } });
    const agent = client('thread');
    const { interrupts } = await say(agent, `tool:refund {"order":"${order}","amount":5}; say:Done.`);
    const [{ id, message } = { id: '', message: '' }] = interrupts;
    return { box, id, message, agent };
  };

  test('is made of the arguments, and shown wherever the approval is', async () => {
    const { box, id, message } = await openWith(({ order, amount }) => `Pay ${amount} back for ${order}?`);
    expect(message).toBe('Pay 5 back for A-1?');
    expect(await get(box, id)).toMatchObject({ title: 'Pay 5 back for A-1?', payload: { tool: 'refund' } });
    expect(box.logs).toEqual([]);
  });

  test('is bounded, and changes nothing of what is asked', async () => {
    const { box, id } = await openWith((args) => {
      args.amount = 99;
      return `${'x'.repeat(499)}\u{1F600}${'y'.repeat(9_000)}`;
    });
    expect(await get(box, id)).toMatchObject({
      title: `${'x'.repeat(499)}…`,
      payload: { arguments: { order: 'A-1', amount: 5 } },
    });
  });

  test.each<[string, unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('No such order.');
      },
      'threw: No such order.',
    ],
    ['gives a number', () => 5, 'gave no text'],
    ['gives nothing', () => '  ', 'gave no text'],
    ['gives a promise that fails', async () => Promise.reject(new Error('Late.')), 'gave a promise'],
  ])('is the default where it %s, and the log says so', async (_what, title, why) => {
    const { box, id } = await openWith(title as InterruptPolicy['title']);
    expect(await get(box, id)).toMatchObject({ title: 'Run "refund"?', status: 'pending' });
    expect(box.logs).toMatchObject([{ level: 'warn', message: expect.stringContaining(why) as string }]);
    expect(await call(box, `POST /api/approvals/${id}/decide`, { decision: 'approve' })).toMatchObject({ status: 200 });
  });

  test('stays what was asked over a restart, whatever it would be then', async () => {
    let asked = 0;
    const title = () => `Number ${++asked}?`;
    const { box, id } = await openWith(title);
    const again = await box.restart({ agents: { helper: withTitle(title) } });
    await serveAgui(again);
    expect(await get(again, id)).toMatchObject({ title: 'Number 1?' });
    await call(again, `POST /api/approvals/${id}/decide`, { decision: 'approve' });
    await until(async () => {
      const [run] = await again.journal.listRuns({ kind: 'agent' }, { limit: 1 });
      return run?.status === 'completed';
    });
    expect(asked).toBe(1);
  });

  test('is a text or a function', () => {
    expect(() => withTitle(5 as never)).toThrow('interruptOn.refund.title is 5; it must be a text, or a function');
    expect(() => withTitle('')).toThrow('interruptOn.refund.title is ""');
  });
});
