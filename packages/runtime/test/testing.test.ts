import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createHook, createWebhook, defineDeepAgent, defineTool, requestApproval, sleep, svc } from '../src/index.ts';
import { markWorkflow } from '../src/internal.ts';
import { createTestBox, model } from '../src/testing.ts';
import type { TestBoxOptions, WorkflowModules } from '../src/testing.ts';
import { toStep } from './_setup.ts';

async function open<A extends string, W extends WorkflowModules>(options: TestBoxOptions<A, W>) {
  const box = await createTestBox(options);
  onTestFinished(() => box.close());
  return box;
}

/** A module as the compiler makes it. */
function toModule(name: string, run: (...args: never[]) => unknown, more: object = {}) {
  markWorkflow(run, name);
  return { run, ...more };
}

const calls: string[] = [];
const charge = toStep('charge', async (amount: number) => {
  calls.push('charge');
  return `paid ${amount}`;
});
const notify = toStep('notify', async () => void calls.push('notify'));
const order = toModule('order', async ({ amount }: { amount: number }) => {
  const receipt = await charge(amount);
  await notify();
  return { receipt };
});

const DAY = 86_400_000;

describe('the clock of a test box', () => {
  const nap = toModule('nap', async () => {
    const first = Date.now();
    await sleep('1 day');
    const second = Date.now();
    await sleep('2 days');
    return [first, second, Date.now()];
  });

  test('stands still, and lets a run that sleeps twice wake twice', async () => {
    const box = await open({ workflows: { nap }, now: '2026-01-01T00:00:00Z' });
    const run = await box.workflow('nap').start();
    expect(await run.status()).toBe('waiting');
    const start = Date.parse('2026-01-01T00:00:00Z');
    await box.clock.advance('3 days');
    expect(box.clock.now()).toEqual(new Date(start + 3 * DAY));
    expect(await run.status()).toBe('completed');
    expect(await run.result()).toEqual([start, start + DAY, start + 3 * DAY]);
  });

  test('does not let a sleep end a millisecond early', async () => {
    const box = await open({ workflows: { nap } });
    const run = await box.workflow('nap').start();
    await box.clock.advance(3 * DAY - 1);
    expect(await run.status()).toBe('waiting');
    await box.clock.advance(1);
    expect(await run.status()).toBe('completed');
  });

  test('makes retries, timeouts of approvals and schedules due', async () => {
    let tries = 0;
    const flaky = toStep('flaky', async () => {
      if (++tries < 3) throw new Error('Not yet.');
      return tries;
    });
    const ask = toModule('ask', async () => {
      const done = await flaky();
      const answer = await requestApproval({ title: 'Go?', timeout: '1 hour', fallback: 'approve' });
      return { done, timedOut: answer.timedOut };
    });
    let ticks = 0;
    const tick = toStep('tick', async () => ++ticks);
    const hourly = toModule('hourly', async () => tick(), { schedules: [{ cron: '0 * * * *' }] });
    const box = await open({ workflows: { ask, hourly }, now: '2026-01-01T00:30:00Z' });
    const run = await box.workflow('ask').start();
    await box.clock.advance('1 minute');
    expect(tries).toBe(3);
    await box.clock.advance('3 hours');
    expect(await run.result()).toEqual({ done: 3, timedOut: true });
    expect(ticks).toBe(3);
  });

  test('keeps the lease of a run whose step goes on', async () => {
    let begun = 0;
    let finish = (): void => {};
    const slow = toStep('slow', async () => {
      begun++;
      await new Promise<void>((resolve) => (finish = resolve));
      return 'done';
    });
    const box = await open({ workflows: { work: toModule('work', () => slow()) } });
    const run = await box.workflow('work').start();
    await box.clock.advance('2 days');
    finish();
    expect(await run.result()).toBe('done');
    expect(begun).toBe(1);
  });
});

describe('a workflow in a test box', () => {
  test('is refused what its schema refuses, and shows its steps', async () => {
    const checked = { ...order, inputSchema: z.object({ amount: z.number() }) };
    const box = await open({ workflows: { order: checked } });
    await expect(box.workflow('order').start({ amount: 'much' } as never)).rejects.toMatchObject({
      code: 'workflow_input_invalid',
    });
    const run = await box.workflow('order').start({ amount: 5 });
    expect(await run.result()).toEqual({ receipt: 'paid 5' });
    expect((await run.steps()).map(({ name, status }) => [name, status])).toEqual([
      ['charge', 'completed'],
      ['notify', 'completed'],
    ]);
  });

  test('is approved, rejected and edited', async () => {
    const ask = toModule('ask', async () => {
      const { approved, input, note } = await requestApproval({ title: 'Ship?', payload: { kg: 3 } });
      return { approved, input, note };
    });
    const box = await open({ workflows: { ask } });
    const decide = async (how: (approval: Awaited<ReturnType<typeof box.approvals.next>>) => Promise<void>) => {
      const run = await box.workflow('ask').start();
      await how(await box.approvals.next());
      return run.result();
    };
    expect(await decide((one) => one.approve())).toEqual({ approved: true, input: null, note: null });
    expect(await decide((one) => one.reject({ note: 'No.' }))).toEqual({ approved: false, input: null, note: 'No.' });
    expect(await decide((one) => one.edit({ kg: 2 }))).toMatchObject({ approved: true, input: { kg: 2 } });
    expect(await box.approvals.list()).toEqual([]);
  });

  test('shows all of a payload that a list would cut', async () => {
    const payload = { rows: Array.from({ length: 2_000 }, (_, n) => n) };
    const ask = toModule('ask', async () => (await requestApproval({ title: 'Ship?', payload })).approved);
    const box = await open({ workflows: { ask } });
    const run = await box.workflow('ask').start();
    expect((await box.approvals.next()).payload).toEqual(payload);
    const [one] = await box.approvals.list();
    expect(one?.payload).toEqual(payload);
    await one?.approve();
    expect(await run.result()).toBe(true);
  });

  test('that does not end says what it waits for', async () => {
    const wait = toModule('wait', async () => (await createHook({ token: 'a' })) as unknown);
    const box = await open({ workflows: { wait } });
    const run = await box.workflow('wait').start();
    await expect(run.result({ timeout: 50 })).rejects.toThrow(/is waiting. It waits for .*hook/);
    await run.cancel();
    await expect(run.result()).rejects.toMatchObject({ code: 'run_cancelled' });
  });

  test('takes webhooks through the HTTP API', async () => {
    const wait = toModule('wait', async () => {
      const hook = createWebhook();
      await toStep('tell', async (url: string) => void calls.push(url))(hook.url);
      return (await (await hook).json()) as unknown;
    });
    const box = await open({ workflows: { wait } });
    const run = await box.workflow('wait').start();
    await run.status();
    const { pathname } = new URL(calls.at(-1) ?? '');
    expect((await box.request(pathname, { method: 'POST', body: '{"paid":true}' })).status).toBe(202);
    expect(await run.result()).toEqual({ paid: true });
  });

  test('that is not compiled is refused with what to do', async () => {
    await expect(createTestBox({ workflows: { raw: { run: async () => {} } } })).rejects.toThrow(/svcTesting/);
    await expect(createTestBox({ workflows: { other: order } })).rejects.toThrow('is the workflow "order"');
  });
});

describe('a crash', () => {
  test.each([
    ['before', ['charge', 'notify']],
    ['after', ['charge', 'charge', 'notify']],
    ['recorded', ['charge', 'notify']],
  ] as const)('%s a step: what is recorded is not done again', async (when, expected) => {
    const box = await open({ workflows: { order } });
    calls.length = 0;
    const crashed = box.crashAt({ step: 'charge', when });
    const run = await box.workflow('order').start({ amount: 5 });
    await expect(run.result()).rejects.toMatchObject({ code: 'box_crashed' });
    await crashed;
    expect(await box.restart()).toBeUndefined();
    expect(await run.result()).toEqual({ receipt: 'paid 5' });
    expect(calls).toEqual(expected);
  });

  test('lets other code go on with the run', async () => {
    const box = await open({ workflows: { order } });
    void box.crashAt({ step: 'notify', when: 'before' });
    const run = await box.workflow('order').start({ amount: 5 });
    await run.result().catch(() => {});
    const changed = toModule('order', async () => ({ receipt: `changed ${await notify()}` }));
    await box.restart({ workflows: { order: changed } });
    expect(await run.status()).toBe('blocked');
  });

  const over = (text: string) => ({ code: 'crash_not_reached', message: expect.stringContaining(text) });

  test('at a step that does not come fails once the run has ended, with the steps there were', async () => {
    const box = await open({ workflows: { order } });
    const crashed = box.crashAt({ step: 'chrge', when: 'before' });
    const run = await box.workflow('order').start({ amount: 5 });
    await expect(crashed).rejects.toMatchObject(
      over('Nothing has come to "chrge": the run of "order" is completed. Its steps: "charge", "notify".'),
    );
    expect(await run.result()).toEqual({ receipt: 'paid 5' });
  });

  test('that is recorded fails when the step has failed, and so does one of a run that was cancelled', async () => {
    const failing = toStep('failing', async () => {
      throw Object.assign(new Error('No.'), { fatal: true });
    });
    const broken = toModule('broken', async () => failing());
    const idle = toModule('idle', async () => sleep('1 day'));
    const box = await open({ workflows: { broken, idle } });
    const first = box.crashAt({ step: 'failing', when: 'recorded' });
    await box.workflow('broken').start();
    await expect(first).rejects.toMatchObject(over('the run of "broken" is failed. Its steps: "failing" (failed).'));
    const second = box.crashAt({ step: 'charge', when: 'after' });
    const run = await box.workflow('idle').start();
    await run.cancel();
    await expect(second).rejects.toMatchObject(over('the run of "idle" is cancelled. It had no steps.'));
  });

  test('waits while another run may come to it, and comes when one does after all', async () => {
    const nap = toModule('nap', async () => {
      await sleep('1 day');
      return notify();
    });
    const box = await open({ workflows: { order: toModule('order', () => charge(1) as never), nap } });
    let failed = 0;
    const crashed = box.crashAt({ step: 'notify', when: 'before' });
    crashed.catch(() => failed++);
    await box.workflow('nap').start();
    await (await box.workflow('order').start()).result();
    await expect(box.clock.advance('1 day')).rejects.toMatchObject({ code: 'box_crashed' });
    await crashed;
    expect(failed).toBe(0);
  });

  test('that no one waits for stays where it is when a turn has ended without it', async () => {
    const pay = defineTool({ description: 'Pay.', inputSchema: z.object({}), execute: () => 'paid' });
    const box = await open({
      agents: { payer: defineDeepAgent({ name: 'payer', tools: { pay } }) },
      model: ['Hello.', model.reply({ toolCalls: [{ name: 'pay' }] })].map((one) => () => one),
    });
    void box.crashAt({ step: 'pay', when: 'before' });
    const other = box.crashAt({ step: 'none', when: 'before' });
    expect((await box.agent('payer').send('hi')).text).toBe('Hello.');
    await expect(other).rejects.toMatchObject(over('the run of "payer" is completed. Its steps: "model".'));
    await expect(box.agent('payer').send('pay')).rejects.toMatchObject({ code: 'box_crashed' });
  });

  test('that has not come when the box goes on as another process fails', async () => {
    const box = await open({ workflows: { order } });
    const crashed = box.crashAt({ step: 'charge', when: 'before' });
    await box.restart();
    await expect(crashed).rejects.toMatchObject(over('Nothing has come to "charge": the box has ended before.'));
  });

  test('of a step that sleeps ends with the sleep', async () => {
    const nap = toModule('nap', async () => {
      await sleep('1 day');
      return charge(1);
    });
    const box = await open({ workflows: { nap } });
    const run = await box.workflow('nap').start();
    void box.crashAt({ step: 'charge', when: 'before' });
    await expect(box.clock.advance('1 day')).rejects.toMatchObject({ code: 'box_crashed' });
    await box.restart();
    expect(await run.result()).toBe('paid 1');
  });
});

describe('an agent in a test box', () => {
  const refunded: unknown[] = [];
  const refund = defineTool({
    description: 'Refund an order.',
    inputSchema: z.object({ order: z.string() }),
    execute(input) {
      refunded.push(input);
      return { ok: true };
    },
  });
  const support = defineDeepAgent({ name: 'support', instructions: 'Help.', tools: { refund } });
  const careful = defineDeepAgent({ name: 'careful', tools: { refund }, interruptOn: { refund: true } });
  const CALL = model.reply({ text: 'One moment.', toolCalls: [{ name: 'refund', args: { order: 'A-1' } }] });

  test('answers, calls its tools, and shows what the model was asked', async () => {
    const usage = { inputTokens: 7, outputTokens: 2 };
    const box = await open({
      agents: { support },
      model: [CALL, model.reply({ text: 'Done.', reasoning: 'Hm.', usage })],
    });
    const turn = await box.agent('support').send('Refund A-1.');
    expect(turn).toMatchObject({
      text: 'Done.',
      reasoning: 'Hm.',
      finishReason: 'stop',
      toolCalls: [{ name: 'refund', args: { order: 'A-1' }, result: '{"ok":true}', isError: false }],
      usage,
    });
    expect(turn.events.at(-1)).toEqual({ type: 'finish', reason: 'stop' });
    expect((await turn.run.steps()).map(({ kind }) => kind)).toEqual(['model', 'tool', 'model']);
    const [first, second] = box.model.asked;
    expect(first).toMatchObject({ agent: 'support', sessionId: null, tools: [{ name: 'refund' }] });
    expect(second?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(box.model.left).toBe(0);
  });

  test('keeps a session over a restart', async () => {
    const box = await open({ agents: { support }, model: ({ messages }) => `${messages.length}` });
    expect((await box.agent('support').send('one', { session: 's' })).text).toBe('2');
    await box.restart();
    expect((await box.agent('support').send('two', { session: 's' })).text).toBe('4');
    expect((await box.agent('support').send('three')).text).toBe('2');
  });

  test('waits for a person, also over a restart, and sends the rest', async () => {
    const box = await open({ agents: { careful }, model: [CALL, model.reply('Done.')] });
    const turn = await box.agent('careful').send('Refund A-1.', { session: 's' });
    expect(turn).toMatchObject({ finishReason: 'interrupt', interrupts: [{ name: 'refund', args: { order: 'A-1' } }] });
    expect(await turn.run.status()).toBe('waiting');
    await box.restart();
    await (await box.approvals.next()).edit({ order: 'B-2' });
    expect(await turn.rest()).toMatchObject({ text: 'Done.', finishReason: 'stop' });
    expect(refunded.at(-1)).toEqual({ order: 'B-2' });
  });

  test('throws what ended its turn: the provider, a script that fails, a script that is over', async () => {
    const box = await open({
      agents: { support },
      model: [
        model.fail({ status: 429, code: 'rate_limited', message: 'Slow down.' }),
        ({ messages }) => {
          expect(messages).toHaveLength(99);
          return 'never';
        },
      ],
    });
    const { send } = box.agent('support');
    await expect(send('a')).rejects.toMatchObject({ status: 429, code: 'rate_limited', message: 'Slow down.' });
    await expect(send('b')).rejects.toMatchObject({ name: 'AssertionError' });
    await expect(send('c')).rejects.toThrow('The model was asked 3 times and its script has 2 replies.');
  });

  test('that fails inside of the box says why', async () => {
    const lost = defineDeepAgent({
      name: 'lost',
      instructions: () => {
        throw new Error('Who am I?');
      },
    });
    const box = await open({ agents: { lost } });
    await expect(box.agent('lost').send('a')).rejects.toMatchObject({
      code: 'internal',
      cause: { message: 'Who am I?' },
    });
  });

  test('that a workflow has asked throws what its script threw from the result, and from nothing else', async () => {
    const ask = toModule('ask', async () => {
      const { text } = await svc.agent('support').session().send('hi');
      return text;
    });
    const box = await open({
      agents: { support },
      workflows: { ask },
      model: [({ messages }) => (expect(messages).toHaveLength(99), 'never'), model.reply('Fine.')],
    });
    const [failed, fine] = [await box.workflow('ask').start(), await box.workflow('ask').start()];
    await expect.poll(async () => [await failed.status(), await fine.status()].sort()).toEqual(['completed', 'failed']);
    expect((await failed.status()) === 'failed' ? await fine.result() : await failed.result()).toBe('Fine.');
    const other = (await failed.status()) === 'failed' ? failed : fine;
    await expect(other.result()).rejects.toMatchObject({ name: 'AssertionError' });
    await expect(other.result()).rejects.toMatchObject({ code: 'child_failed' });
  });

  test('that crashes after its tool has run calls it again with the same key, and one that is recorded not', async () => {
    const keys: string[] = [];
    const pay = defineTool({
      description: 'Pay.',
      inputSchema: z.object({}),
      execute: (_, { idempotencyKey }) => void keys.push(idempotencyKey),
    });
    const payer = defineDeepAgent({ name: 'payer', tools: { pay } });
    const script = () => [model.reply({ toolCalls: [{ name: 'pay' }] }), model.reply('Paid.'), model.reply('Again.')];
    for (const when of ['after', 'recorded'] as const) {
      keys.length = 0;
      const box = await open({ agents: { payer }, model: script() });
      void box.crashAt({ step: 'pay', when });
      await expect(box.agent('payer').send('pay', { session: 's' })).rejects.toMatchObject({ code: 'box_crashed' });
      await box.restart();
      const [run] = await box.listRuns();
      expect(await run?.result()).toMatchObject({ content: 'Paid.' });
      expect(keys).toHaveLength(when === 'after' ? 2 : 1);
      expect(new Set(keys).size).toBe(1);
    }
  });
});
