import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { callTool, connect, ERAS, MODERN, openMcpBox, write } from './_mcp.ts';
import type { Json } from './_mcp.ts';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { svc } from '../src/svc.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { continueAsNew } from '../src/engine/primitives/continue-as-new.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { call as request, getRun, runWorkflow, setupBoxes, startWorkflow, toStep, until } from './_setup.ts';
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

  test('a call that is repeated as it was shown stores the value that was not', async () => {
    const stored: unknown[] = [];
    const readSecret = toStep('readSecret', async () => void stored.push(await svc.secrets.get('MCP_KEY')));
    const box = await boxes.open({ workflows: { readSecret: { run: async () => readSecret() } } });
    const client = await connect(box);
    const value = `sk-${'a value that is hidden '.repeat(200)}`;
    const { body } = await write(client, 'secrets.set', { name: 'MCP_KEY', value });
    const { call } = body.details as { call: { operation: string; input: Json } };
    expect(call).toEqual({ operation: 'secrets.set', input: { name: 'MCP_KEY', value: '[hidden]' } });
    const other = await write(client, call.operation, { ...call.input, name: 'OTHER' }, body.requestState);
    expect(other.body).toMatchObject({
      code: 'confirmation_required',
      details: { reason: 'other_call', call: { input: { name: 'OTHER', value: '[hidden]' } } },
    });
    const gone = await write(client, call.operation, call.input, 'v1.x.y');
    expect(gone.body).toMatchObject({ code: 'invalid_request', details: { param: 'value' } });
    const set = await write(client, call.operation, call.input, body.requestState);
    expect([set.isError, set.body.name]).toEqual([false, 'MCP_KEY']);
    await runWorkflow(box, 'readSecret');
    expect(stored).toEqual([value]);
    const again = await write(client, call.operation, call.input, body.requestState);
    expect(again.body).toMatchObject({ code: 'confirmation_required', details: { reason: 'used' } });
  });

  test('what stands for a hidden value is not stored', async () => {
    const client = await connect(await open());
    for (const operation of ['secrets.set', 'secrets.rotate']) {
      const { isError, body } = await write(client, operation, { name: 'MCP_KEY', value: '[hidden]' });
      expect([isError, body.code, body.message]).toEqual([
        true,
        'invalid_request',
        expect.stringMatching(
          /^"value" of "secrets\.\w+" is "\[hidden\]", a placeholder for a value that is not shown\./,
        ),
      ]);
    }
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
    // What is asked for again runs.
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

describe('what a caller has started over MCP', () => {
  const ask = async () => (await requestApproval({ title: 'Refund 50?' })).decision;
  const refund = defineTool({
    description: 'Refund an order.',
    inputSchema: z.object({}),
    execute: () => ({ refunded: true }),
  });
  const program = (): TestBoxOptions => ({
    options: { mcpTools: () => true },
    agents: { desk: defineDeepAgent({ name: 'desk', tools: { refund }, interruptOn: { refund: true } }) },
    workflows: {
      refund: { run: ask },
      // What is started elsewhere asks nothing.
      one: { serial: true, run: async ({ via }: Json) => (via === 'http' ? createHook() : ask()) },
      slow: { throttle: { limit: 1, period: '1s' }, run: async ({ via }: Json) => (via === 'http' ? null : ask()) },
      burst: { debounce: { period: '3s' }, run: ask },
      renewed: { run: async (input: { again?: boolean }) => (input.again ? ask() : continueAsNew({ again: true })) },
      leaves: { run: async () => svc.workflows.start('refund', {}) },
      outer: { run: async () => svc.workflows.startAndWait('refund', {}) },
      // Leap days: no time that comes while a test runs.
      nightly: { run: ask, schedules: [{ cron: '0 0 29 2 *' }] },
      second: { run: failingOnce(ask) },
      outerSecond: { run: failingOnce(async () => svc.workflows.startAndWait('refund', {})) },
    },
  });
  /** Fails in its first run. */
  const failingOnce = (run: () => Promise<unknown>) => {
    let runs = 0;
    return async () => {
      if (runs++ === 0) throw new Error('down');
      return run();
    };
  };
  /** Over HTTP, by the same person. */
  const fail = async (box: TestBox, name: string): Promise<string> => String((await runWorkflow(box, name)).runId);
  const pending = async (box: TestBox): Promise<string> => {
    let id = '';
    await until(async () => {
      const { body } = await request<{ items: { approvalId: string }[] }>(box, 'GET /api/approvals?status=pending');
      id = body.items[0]?.approvalId ?? '';
      return id !== '';
    });
    return id;
  };
  const decide = async (client: Client, id: string) => {
    const input = { id, decision: 'approve' };
    const { body } = await write(client, 'approvals.decide', input);
    return (await write(client, 'approvals.decide', input, body.requestState)).body;
  };

  const start = (name: string) => (client: Client) => write(client, 'workflows.start', { name, input: {} });
  const elsewhere = async (box: TestBox, name: string): Promise<unknown> =>
    (await request(box, `POST /api/workflows/${name}/start`, { via: 'http' })).body.runId;
  const CAUSES: [how: string, cause: (client: Client, box: TestBox) => Promise<unknown>][] = [
    ['a start', start('refund')],
    ['a start of what starts it', start('outer')],
    ['the tool of an agent', (client) => callTool(client, 'agent_desk', { message: 'tool:refund {}; say:Done.' })],
    [
      'a start that waited for the lock of a run',
      async (client, box) => {
        const runId = await elsewhere(box, 'one');
        await start('one')(client);
        await request(box, `POST /api/runs/${runId}/cancel`);
      },
    ],
    [
      'a start that waited for its time',
      (client) => write(client, 'workflows.start', { name: 'refund', input: {}, delay: '10ms' }),
    ],
    [
      'a start that its throttle kept',
      async (client, box) => {
        await elsewhere(box, 'slow');
        await start('slow')(client);
      },
    ],
    [
      'a start that a burst began with elsewhere',
      async (client, box) => {
        await elsewhere(box, 'burst');
        await start('burst')(client);
      },
    ],
    ['a run that continues as another', start('renewed')],
    ['a run that starts it and does not wait', start('leaves')],
    ['a timer that is fired by hand', (client) => write(client, 'jobs.run', { id: 'nightly:0' })],
    [
      'the retry of a run that was started elsewhere',
      async (client, box) => write(client, 'runs.retry', { id: await fail(box, 'second') }),
    ],
    [
      'the retry of a run that starts it',
      async (client, box) => write(client, 'runs.retry', { id: await fail(box, 'outerSecond') }),
    ],
    [
      'a retry of all that failed',
      async (client, box) => {
        await fail(box, 'second');
        const { body } = await write(client, 'runs.retry_all', { name: 'second' });
        return write(client, 'runs.retry_all', { name: 'second' }, body.requestState);
      },
    ],
  ];

  test.each(CAUSES)('is not decided there by the same one, but elsewhere: %s', async (_how, cause) => {
    const box = await boxes.open(program());
    const client = await connect(box);
    await cause(client, box);
    const id = await pending(box);
    expect(await decide(client, id)).toMatchObject({ code: 'decision_not_yours' });
    const resumed = await write(client, 'hooks.resume', { token: id, payload: { decision: 'approve' } });
    expect(resumed).toMatchObject({ isError: true, body: { code: 'forbidden' } });
    const { body } = await request(box, `GET /api/approvals/${id}`);
    expect(body.status).toBe('pending');
    expect((await request(box, `POST /api/approvals/${id}/decide`, { decision: 'approve' })).status).toBe(200);
    expect(await getRun(box, String(body.runId), '20s')).toMatchObject({ status: 'completed' });
  });

  test('says so: of a start, of a timer, and of a retry beside who made the first run begin', async () => {
    const box = await boxes.open(program());
    const client = await connect(box);
    const { runId } = (await write(client, 'workflows.start', { name: 'refund', input: {} })).body;
    expect((await getRun(box, String(runId))).startedBy).toMatchObject({ id: 'owner', via: 'mcp' });
    const { lastRunId } = (await write(client, 'jobs.run', { id: 'nightly:0' })).body;
    expect(await getRun(box, String(lastRunId))).toMatchObject({
      trigger: 'schedule',
      startedBy: { id: 'owner', via: 'mcp' },
    });
    const first = await fail(box, 'second');
    const again = (await write(client, 'runs.retry', { id: first })).body;
    const { startedBy } = await getRun(box, String(again.runId));
    expect(startedBy).toMatchObject({ kind: 'person', retriedBy: { kind: 'person', id: 'owner', via: 'mcp' } });
    expect(startedBy).not.toHaveProperty('via');
  });

  test('is no matter where the run was started elsewhere', async () => {
    const box = await boxes.open(program());
    const runId = await startWorkflow(box, 'refund');
    expect(await decide(await connect(box), await pending(box))).toMatchObject({ status: 'approved' });
    expect(await getRun(box, runId, '20s')).toMatchObject({ output: 'approve' });
  });
});
