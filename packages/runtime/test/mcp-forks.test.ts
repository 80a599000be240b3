import type { Client } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { step } from '../src/engine/_setup.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { callTool, connect, ERAS, MODERN, write } from './_mcp.ts';
import type { Json } from './_mcp.ts';
import { finish, getRun, setupBoxes, startWorkflow, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';

// Forks and rewinds, asked for by a client of MCP: it looks first at what would be executed again, and a person confirms it.

const boxes = setupBoxes();

/** An order that reserves and charges, and waits where it is asked to. Answers what has been executed. */
async function openOrders() {
  const calls: string[] = [];
  const reserve = step('reserve', (item: string) => {
    calls.push(`reserve ${item}`);
    return item;
  });
  const charge = step('charge', (item: string, cents: number) => {
    calls.push(`charge ${item} ${cents}`);
    return cents;
  });
  const box = await boxes.open({
    workflows: {
      order: {
        async run({ item, waits = false }: { item: string; waits?: boolean }) {
          const paid = await charge(await reserve(item), 100);
          if (waits) await createHook({ token: `go-${item}` });
          return paid;
        },
      },
    },
  });
  return { box, calls };
}

const look = (client: Client, id: string, from: string, as = 'fork') =>
  callTool(client, 'call_read_operation', { operation: 'runs.fork_preview', input: { id, from, as } });

/** Looks, asks, and repeats the call as it was shown. */
async function confirmed(client: Client, operation: 'runs.fork' | 'runs.rewind', input: Json): Promise<Json> {
  const { body: asked } = await write(client, operation, input);
  expect(asked).toMatchObject({ code: 'confirmation_required', details: { call: { operation, input } } });
  return (await write(client, operation, input, asked.requestState)).body;
}

async function parked(box: TestBox, item: string): Promise<string> {
  const runId = await startWorkflow(box, 'order', { item, waits: true });
  await untilStatus(box, runId, 'waiting');
  return runId;
}

test.each(ERAS)(
  '%s: a fork executes nothing before the yes, gives the step its edited input, and is found from both runs',
  async (_era, options) => {
    const { box, calls } = await openOrders();
    const client = await connect(box, options);
    const source = await startWorkflow(box, 'order', { item: 'book' });
    await finish(box, source);
    const { body: shown } = await look(client, source, 'charge');
    expect(shown).toMatchObject({
      runId: source,
      as: 'fork',
      step: '1',
      taken: { steps: 1 },
      again: [{ name: 'charge', kind: 'step', isEffect: true, steps: ['1'], done: 1, totalTokens: 0 }],
      againTokens: 0,
      ends: false,
    });
    const input = { id: source, from: 'charge', etag: shown.etag, args: ['book', 5] };
    const { body: asked } = await write(client, 'runs.fork', input);
    expect(asked.code).toBe('confirmation_required');
    expect(calls).toEqual(['reserve book', 'charge book 100']);
    const { body: receipt } = await write(client, 'runs.fork', input, asked.requestState);
    const forked = await finish(box, String(receipt.runId));
    expect(forked).toMatchObject({
      status: 'completed',
      output: 5,
      trigger: 'fork',
      forkedFrom: { runId: source, step: '1' },
    });
    expect(calls).toEqual(['reserve book', 'charge book 100', 'charge book 5']);
    const { body: listed } = await callTool(client, 'call_read_operation', {
      operation: 'runs.list',
      input: { forkedFrom: source },
    });
    expect(listed).toMatchObject({ items: [{ runId: receipt.runId }] });
  },
);

test('a rewind says that the run ends, and ends it with the yes alone', async () => {
  const { box, calls } = await openOrders();
  const client = await connect(box);
  const source = await parked(box, 'pen');
  const { body: shown } = await look(client, source, '1', 'rewind');
  expect(shown).toMatchObject({
    as: 'rewind',
    ends: true,
    heldHooks: [],
    again: [{ name: 'charge' }, { kind: 'hook', isEffect: false }],
  });
  const input = { id: source, from: '1', etag: shown.etag };
  const { body: asked } = await write(client, 'runs.rewind', input);
  expect(await getRun(box, source)).toMatchObject({ status: 'waiting' });
  const { body: receipt } = await write(client, 'runs.rewind', input, asked.requestState);
  expect(await finish(box, source)).toMatchObject({ status: 'cancelled', error: { code: 'run_rewound' } });
  await untilStatus(box, String(receipt.runId), 'waiting');
  expect(await getRun(box, String(receipt.runId))).toMatchObject({
    trigger: 'rewind',
    forkedFrom: { runId: source, step: '1' },
  });
  expect(calls).toEqual(['reserve pen', 'charge pen 100', 'charge pen 100']);
});

test('a step that is not there, and a run that has changed since it was looked at, are refused', async () => {
  const { box, calls } = await openOrders();
  const client = await connect(box);
  const source = await parked(box, 'cup');
  for (const from of ['nope', '9'])
    expect(await look(client, source, from)).toMatchObject({ isError: true, body: { code: 'not_found' } });
  const { body: shown } = await look(client, source, '1', 'rewind');
  await box.engine.resumeHook('go-cup', null);
  await finish(box, source);
  const late = await confirmed(client, 'runs.rewind', { id: source, from: '1', etag: shown.etag });
  expect(late).toMatchObject({ code: 'run_changed' });
  expect(await confirmed(client, 'runs.fork', { id: source, from: 'nope', etag: String(shown.etag) })).toMatchObject({
    code: 'not_found',
  });
  expect(calls).toEqual(['reserve cup', 'charge cup 100']);
});

test('a person who says no keeps it from being made', async () => {
  const { box, calls } = await openOrders();
  const client = await connect(box, { ...MODERN, capabilities: { elicitation: { form: {} } } });
  const asked: string[] = [];
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    asked.push(params.message);
    return { action: 'decline' } as never;
  });
  const source = await startWorkflow(box, 'order', { item: 'hat' });
  await finish(box, source);
  const { body: shown } = await look(client, source, 'charge');
  const { isError, body } = await write(client, 'runs.fork', { id: source, from: 'charge', etag: shown.etag });
  expect([isError, body.code]).toEqual([true, 'confirmation_declined']);
  expect(asked).toEqual([expect.stringContaining('"runs.fork" with')]);
  expect(calls).toEqual(['reserve hat', 'charge hat 100']);
});
