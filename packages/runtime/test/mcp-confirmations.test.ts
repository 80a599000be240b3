import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { connect, ERAS, MODERN, openMcpBox, write } from './_mcp.ts';
import type { Json } from './_mcp.ts';
import { getRun, setupBoxes, startWorkflow } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();
const CLOCK_START = Date.now();

const open = (options: TestBoxOptions['options'] = {}) => openMcpBox(boxes, options);

describe('a marked write, asked for by a client that cannot ask a person', () => {
  const ask = async (box: TestBox, client: Client) => {
    const id = await startWorkflow(box, 'rest');
    const { isError, body } = await write(client, 'runs.cancel', { id });
    return { id, isError, body, state: body.requestState };
  };
  const statusOf = async (box: TestBox, id: string) => (await getRun(box, id)).status;

  test.each(ERAS)('%s: runs when it is repeated with its requestState', async (_era, options) => {
    const box = await open();
    const client = await connect(box, options);
    const { id, isError, body, state } = await ask(box, client);
    expect([isError, body.code]).toEqual([false, 'confirmation_required']);
    expect(body.message).toContain(`"runs.cancel" with {"id":"${id}"}`);
    expect(await statusOf(box, id)).not.toBe('cancelled');
    const { body: done } = await write(client, 'runs.cancel', { id }, state);
    expect([done.runId, await statusOf(box, id)]).toEqual([id, 'cancelled']);
  });

  test('the state is sealed: it names nothing', async () => {
    const box = await open();
    const { id, state } = await ask(box, await connect(box));
    expect(state).toMatch(/^v1\.[\w-]{16}\.[\w-]+$/);
    const text = Buffer.from(String(state).split('.')[2] ?? '', 'base64url').toString('latin1');
    expect([id, 'runs.cancel', 'owner'].filter((word) => text.includes(word))).toEqual([]);
  });

  test('a state serves once', async () => {
    const box = await open();
    const client = await connect(box);
    const { id, state } = await ask(box, client);
    await write(client, 'runs.cancel', { id }, state);
    const { body } = await write(client, 'runs.cancel', { id }, state);
    expect(body).toMatchObject({ code: 'confirmation_required', details: { reason: 'used' } });
  });

  test('of two repeats at once one runs', async () => {
    const box = await open();
    const client = await connect(box);
    const { id, state } = await ask(box, client);
    const answers = await Promise.all([1, 2, 3].map(() => write(client, 'runs.cancel', { id }, state)));
    expect(answers.filter(({ body }) => body.runId === id)).toHaveLength(1);
  });

  test.each([
    ['other input', (id: string) => ['runs.cancel', { id: `${id}x` }] as const],
    ['another operation', (id: string) => ['runs.delete', { id }] as const],
  ])('a state for %s does not confirm, and is not used up', async (_what, edit) => {
    const box = await open();
    const client = await connect(box);
    const { id, state } = await ask(box, client);
    const [operation, input] = edit(id);
    const { body } = await write(client, operation, input, state);
    expect(body).toMatchObject({
      code: 'confirmation_required',
      details: { reason: 'other_call', call: { operation, input } },
    });
    expect(await statusOf(box, id)).not.toBe('cancelled');
    expect((await write(client, 'runs.cancel', { id }, state)).body.runId).toBe(id);
  });

  test.each(['', 'v1.x.y', 'made up'])('the state "%s" is not one of the box', async (state) => {
    const box = await open();
    const client = await connect(box);
    const { id } = await ask(box, client);
    const { body } = await write(client, 'runs.cancel', { id }, state);
    expect(body).toMatchObject({ code: 'confirmation_required', details: { reason: 'unknown' } });
  });

  test.each([
    [89_000, undefined],
    [90_000, 'expired'],
    [-6_000, 'expired'],
    [-1, undefined],
  ])('a state that is %i ms old: %s', async (ms, reason) => {
    let skew = 0;
    const clock = { now: () => CLOCK_START + skew, sync: async () => {} };
    const box = await open({ engine: { clock } });
    const client = await connect(box);
    const { id, state } = await ask(box, client);
    skew = ms;
    const { body } = await write(client, 'runs.cancel', { id }, state);
    expect((body.details as Json | undefined)?.reason).toBe(reason);
    // What is asked for anew runs.
    const again = reason === undefined ? body : (await write(client, 'runs.cancel', { id }, body.requestState)).body;
    expect(again.runId).toBe(id);
  });

  test('a state does not outlive the box', async () => {
    const box = await open();
    const { id, state } = await ask(box, await connect(box));
    const next = await box.restart();
    const { body } = await write(await connect(next), 'runs.cancel', { id }, state);
    expect(body).toMatchObject({ code: 'confirmation_required', details: { reason: 'unknown' } });
    expect(await statusOf(next, id)).not.toBe('cancelled');
  });
});

describe('a marked write, asked for by a client that asks a person', () => {
  const connectAsking = async (box: TestBox, answer: (message: string) => Json) => {
    const asked: string[] = [];
    const client = await connect(box, { ...MODERN, capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params.message);
      return answer(params.message) as never;
    });
    return { client, asked };
  };

  test('runs after a yes', async () => {
    const box = await open();
    const { client, asked } = await connectAsking(box, () => ({ action: 'accept', content: { confirm: true } }));
    const id = await startWorkflow(box, 'rest');
    const { body } = await write(client, 'runs.cancel', { id });
    expect(body).toMatchObject({ runId: id, status: 'cancelled' });
    expect(asked).toEqual([expect.stringContaining(`"runs.cancel" with {"id":"${id}"}. Run it?`)]);
  });

  test.each([
    ['declined', { action: 'decline' }],
    ['cancelled', { action: 'cancel' }],
    ['left at no', { action: 'accept', content: { confirm: false } }],
  ])('does not run when it is %s', async (_how, answer) => {
    const box = await open();
    const { client } = await connectAsking(box, () => answer);
    const id = await startWorkflow(box, 'rest');
    const { isError, body } = await write(client, 'runs.cancel', { id });
    expect([isError, body.code]).toEqual([true, 'confirmation_declined']);
    expect((await getRun(box, id)).status).not.toBe('cancelled');
  });

  test('the model cannot answer for the person with the argument of the other clients', async () => {
    const box = await open();
    const id = await startWorkflow(box, 'rest');
    const { body } = await write(await connect(box), 'runs.cancel', { id });
    const { client, asked } = await connectAsking(box, () => ({ action: 'decline' }));
    const { body: answer } = await write(client, 'runs.cancel', { id }, body.requestState);
    expect([asked.length, answer.code]).toEqual([1, 'confirmation_declined']);
  });
});
