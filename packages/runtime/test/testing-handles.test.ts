import { integer, pgTable } from 'drizzle-orm/pg-core';
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { continueAsNew } from '../src/engine/primitives/continue-as-new.ts';
import { defineDeepAgent, defineDynamicConfig, defineTool, requestApproval, sleep, svc } from '../src/index.ts';
import { markMisplaced, markWorkflow } from '../src/internal.ts';
import { createTestBox, model } from '../src/testing.ts';
import type { TestBoxOptions, TestRun, WorkflowModules } from '../src/testing.ts';
import { toStep } from './_setup.ts';

async function open<A extends string, W extends WorkflowModules>(options: TestBoxOptions<A, W>) {
  const box = await createTestBox(options);
  onTestFinished(() => box.close());
  return box;
}

function mark<F extends (...args: never[]) => unknown>(name: string, run: F): F {
  markWorkflow(run, name);
  return run;
}

const helper = defineDeepAgent({ name: 'helper', instructions: 'Help.' });

/** A step that goes on until it is let. */
function createHeldStep(name: string) {
  let release = (): void => {};
  let begun = false;
  const held = toStep(name, async () => {
    begun = true;
    await new Promise<void>((resolve) => (release = resolve));
    return 'done';
  });
  return { held, release: () => release(), hasBegun: () => begun };
}

describe('the relational store of a test box', () => {
  test('stays unopened by a stateless turn, a start, a missing secret and a default of the configuration', async () => {
    const secret = toStep('secret', async () => svc.secrets.get('NONE').catch((error: { code: string }) => error.code));
    const nap = mark('nap', async () => {
      const found = [await secret(), await svc.config.get('limit'), (await svc.ai.chat({ prompt: 'Hi' })).text];
      await sleep('1 day');
      return found;
    });
    const box = await open({
      agents: { helper },
      workflows: { nap: { nap } },
      config: defineDynamicConfig({ limit: z.number().default(5) }),
      model: () => 'Hello.',
    });
    expect((await box.agent('helper').send('Hi')).text).toBe('Hello.');
    const run = await box.workflow('nap').start();
    expect(await run.status()).toBe('waiting');
    await box.clock.advance('1 day');
    expect(await run.result()).toEqual(['secret_not_found', 5, 'Hello.']);
    await box.restart();
    expect(await run.status()).toBe('completed');
    expect(box.isDatabaseOpen).toBe(false);
    await box.agent('helper').send('Hi', { session: 'ada' });
    expect(box.isDatabaseOpen).toBe(true);
  });

  test('stays unopened by what a person decides, which is in the activity log once something opens it', async () => {
    const ask = mark('ask', async () => {
      const { approved, input, note } = await requestApproval({ title: 'Ship?', payload: { kg: 3 } });
      return [approved, input, note];
    });
    const box = await open({ workflows: { ask: { ask } } });
    const first = await box.workflow('ask').start();
    await (await box.approvals.next()).edit({ kg: 2 }, { note: 'Less.' });
    expect(await first.result()).toEqual([true, { kg: 2 }, 'Less.']);
    const second = await box.workflow('ask').start();
    await (await box.approvals.next()).reject();
    expect(await second.result()).toEqual([false, null, null]);
    expect(box.isDatabaseOpen).toBe(false);
    const { items } = (await (await box.request('/api/activity')).json()) as { items: { operation: string }[] };
    expect(box.isDatabaseOpen).toBe(true);
    expect(items.filter(({ operation }) => operation === 'approvals.decide')).toHaveLength(2);
  });

  test('is where a test puts rows, and looks', async () => {
    const sums = pgTable('sums', { n: integer().notNull() });
    const add = toStep('add', async () => {
      const rows = await svc.database.select().from(sums);
      const n = rows.reduce((sum, row) => sum + row.n, 0);
      await svc.database.insert(sums).values({ n });
      return n;
    });
    const sum = mark('sum', async () => add());
    const box = await open({ workflows: { sum: { sum } }, schema: { sums } });
    expect(box.isDatabaseOpen).toBe(false);
    await box.database.execute('create table sums (n integer not null)');
    await box.database.insert(sums).values([{ n: 2 }, { n: 3 }]);
    expect(await (await box.workflow('sum').start()).result()).toBe(5);
    await box.restart();
    expect(await box.database.select().from(sums)).toEqual([{ n: 2 }, { n: 3 }, { n: 5 }]);
  });
});

describe('what an operator sets', () => {
  const config = defineDynamicConfig({ limit: z.number().max(100).default(5) });
  const readSecret = toStep('readSecret', async () => svc.secrets.get('SHOP_KEY'));
  const read = mark('read', async () => [await svc.config.get('limit'), (await readSecret()).length]);

  test('is set by a test, for code to read', async () => {
    const box = await open({ workflows: { read: { read } }, config });
    expect(await box.config.get('limit')).toBe(5);
    await box.secrets.set('SHOP_KEY', 'one');
    await box.config.set('limit', 80);
    expect(await (await box.workflow('read').start()).result()).toEqual([80, 3]);
    await box.secrets.set('SHOP_KEY', 'three');
    await box.restart();
    expect(await (await box.workflow('read').start()).result()).toEqual([80, 5]);
    await expect(box.config.set('limit', 101)).rejects.toMatchObject({ code: 'config_value_invalid' });
    await expect(box.config.get('other')).rejects.toMatchObject({ code: 'config_key_not_found' });
    await expect(box.secrets.set('a/b', 'x')).rejects.toMatchObject({ code: 'invalid_request' });
  });
});

describe('a run of a test box', () => {
  test('is answered once its step has ended, however long that takes', async () => {
    const slow = toStep('slow', async () => {
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      return 'done';
    });
    const work = mark('work', async () => slow());
    const box = await open({ workflows: { work: { work } } });
    const run = await box.workflow('work').start();
    expect((await run.peek()).status).not.toBe('completed');
    expect(await run.status()).toBe('completed');
    expect((await run.steps()).map(({ name, status }) => [name, status])).toEqual([['slow', 'completed']]);
  });

  test('that is not at rest in its time is an error that names the step, and the call of the model', async () => {
    const { held, release, hasBegun } = createHeldStep('held');
    const work = mark('work', async () => held());
    let answer = (_text: string): void => {};
    const ask = mark('ask', async () => (await svc.ai.chat({ prompt: 'Hi' })).text);
    const box = await open({
      workflows: { work: { work }, ask: { ask } },
      model: () => new Promise<string>((resolve) => (answer = resolve)),
    });
    const run = await box.workflow('work').start();
    await expect.poll(hasBegun).toBe(true);
    await expect(run.status({ timeout: 100 })).rejects.toThrow(
      `The box is not at rest after 100 ms: it waits for the step "held" of "work" (run ${run.id}).`,
    );
    expect((await run.peek()).status).toBe('running');
    release();
    expect(await run.result()).toBe('done');
    const asking = await box.workflow('ask').start();
    await expect(asking.get({ timeout: 100 })).rejects.toThrow('the step "ai.chat" of "ask"');
    answer('Hello.');
    expect(await asking.result()).toBe('Hello.');
  });

  test('whose step waits for a turn that waits for a person is not waited for', async () => {
    const pay = defineTool({ description: 'Pay.', inputSchema: z.object({}), execute: () => 'paid' });
    const payer = defineDeepAgent({ name: 'payer', tools: { pay }, interruptOn: { pay: true } });
    const send = toStep('send', async () => (await svc.agent('payer').session().send('Pay.')).text);
    const work = mark('work', async () => send());
    const box = await open({
      agents: { payer },
      workflows: { work: { work } },
      model: [model.reply({ toolCalls: [{ name: 'pay' }] }), model.reply('It is paid.')],
    });
    const run = await box.workflow('work').start();
    const [approval] = await box.approvals.list();
    expect(await run.status()).toBe('running');
    await approval?.approve();
    expect(await run.result()).toBe('It is paid.');
  });
});

describe('the state of a run in a test box', () => {
  const stateSchema = z.object({ done: z.number(), at: z.date(), note: z.string().default('-') });
  const copies = {
    stateSchema,
    run: mark('copies', async (input: { rows: number }) => {
      for (let done = 1; done <= input.rows; done++) {
        await sleep('1 hour');
        svc.publish({ done, at: new Date() });
      }
      return input.rows;
    }),
  };
  const continued = { run: mark('continued', async (n: number) => (svc.publish(n), n > 0 ? continueAsNew(n - 1) : n)) };

  test('is what it has published last, as its schema has it, while it waits and after', async () => {
    const box = await open({ workflows: { copies }, now: '2026-01-01T09:00:00Z' });
    const run = await box.workflow('copies').start({ rows: 2 });
    expectTypeOf(run).toEqualTypeOf<TestRun<number, z.output<typeof stateSchema>>>();
    expect(await run.state()).toBeUndefined();
    await box.clock.advance('1 hour');
    const state = await run.state();
    expect(state).toEqual({ done: 1, at: new Date('2026-01-01T10:00:00Z'), note: '-' });
    await box.clock.advance('1 hour');
    expect(await run.result()).toBe(2);
    expect((await run.state())?.done).toBe(2);
  });

  test('is that of the last run it has continued as', async () => {
    const box = await open({ workflows: { continued } });
    const run = await box.workflow('continued').start(2);
    expect(await run.state()).toBe(0);
  });
});

describe('the types of a test box', () => {
  const typed = { double: mark('double', async (input: { n: number }) => ({ twice: input.n * 2 })) };
  const several = { sum: mark('several', async (a: number, b: number) => a + b) };
  const none = { run: mark('none', async () => 'done') };
  const schemas = {
    inputSchema: z.object({ n: z.coerce.number() }),
    outputSchema: z.object({ text: z.string() }),
    run: mark('schemas', async ({ n }: { n: number }) => ({ text: String(n) })),
    other: () => 1,
  };

  test('are those of the module: what a start takes, and what its run answers', async () => {
    const box = await open({ workflows: { double: typed, several, none, schemas } });
    const run = await box.workflow('double').start({ n: 2 });
    expectTypeOf(run).toEqualTypeOf<TestRun<{ twice: number }>>();
    expect((await run.result()).twice).toBe(4);
    expect(await (await box.workflow('several').start({ args: [1, 2] })).result()).toBe(3);
    expect(await (await box.workflow('none').start()).result()).toBe('done');
    const parsed = await box.workflow('schemas').start({ n: 3 });
    expect((await parsed.result()).text).toBe('3');
    const misuse = async (): Promise<void> => {
      // @ts-expect-error there is no such workflow
      await box.workflow('dubble').start();
      // @ts-expect-error the number is missing
      await box.workflow('double').start({});
      // @ts-expect-error and so is the input
      await box.workflow('double').start();
      // @ts-expect-error it takes two
      await box.workflow('several').start({ args: [1] });
    };
    expect(misuse).toBeTypeOf('function');
  });
});

test('a workflow of a file that is no workflow file is refused with where it belongs', async () => {
  const refund = async () => {};
  markMisplaced(refund, 'lib/refund.ts');
  await expect(createTestBox({ workflows: { refund: { refund } } })).rejects.toThrow(
    'The workflow given as "refund" lies in "lib/refund.ts", where no box finds it. Move it to workflows/refund.workflow.ts.',
  );
});
