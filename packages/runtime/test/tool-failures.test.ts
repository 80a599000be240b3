import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/agents/definition.ts';
import { createTestBox, model } from '../src/testing.ts';
import { until } from './_setup.ts';

type Execute = (signal: AbortSignal) => unknown;

/** A box whose agent calls one tool, then says what it was told. */
async function open(execute: Execute) {
  const tool = defineTool({
    description: 'Does it.',
    inputSchema: z.object({}),
    execute: (_, { signal }) => execute(signal),
  });
  const box = await createTestBox({
    agents: { helper: defineDeepAgent({ name: 'helper', tools: { tool } }) },
    model: ({ messages }) =>
      messages.at(-1)?.role === 'user' ? model.reply({ toolCalls: [{ name: 'tool' }] }) : `${messages.length}`,
  });
  onTestFinished(() => box.close());
  return box;
}

const reject = (value: unknown) => () => Promise.reject(value);
const cyclic: Record<string, unknown> = { n: 1n };
cyclic.self = cyclic;

describe('a tool that fails is an answer the model reads, and the turn goes on', () => {
  test.each<[string, Execute, string]>([
    ['an error', reject(new Error('No.')), 'The tool "tool" failed: No.'],
    ['an error without a message', reject(new RangeError()), 'The tool "tool" failed: RangeError'],
    ['a text', reject('No.'), 'The tool "tool" failed: No.'],
    ['an object', reject({ reason: 'No.' }), 'The tool "tool" failed: {"reason":"No."}'],
    ['an object without a prototype', reject(Object.create(null)), 'The tool "tool" failed: {}'],
    ['nothing', reject(undefined), 'The tool "tool" failed: It does not say why.'],
    [
      'what cannot be shown',
      reject({
        get a(): never {
          throw new Error('Hidden.');
        },
      }),
      'The tool "tool" failed: What it threw cannot be shown.',
    ],
    ['an error as long as a book', reject(new Error('x'.repeat(2_000_000))), 'is too long: '],
  ])('it throws %s', async (_, execute, content) => {
    const box = await open(execute);
    const turn = await box.agent('helper').send('go');
    expect(turn).toMatchObject({ text: '3', toolCalls: [{ isError: true }] });
    expect(turn.toolCalls[0]?.result).toContain(content);
  });

  test.each<[string, unknown, boolean, string]>([
    ['more than is kept', 'x'.repeat(2_000_000), true, 'The result of "tool" is too long: 2000002 bytes'],
    ['more than is kept once it is recorded', '"'.repeat(600_000), true, 'Ask for less'],
    ['what is just kept', 'x'.repeat(1_000_000), false, 'xxx'],
    ['what refers to itself', cyclic, false, '{"n":"1","self":null}'],
    ['a function', () => 1, false, 'null'],
    ['nothing', undefined, false, 'null'],
    [
      'what cannot be read',
      {
        get a(): never {
          throw new Error('Hidden.');
        },
      },
      true,
      'The tool "tool" failed: Hidden.',
    ],
  ])('it answers %s', async (_, value, isError, content) => {
    const box = await open(() => value);
    const turn = await box.agent('helper').send('go');
    expect(turn).toMatchObject({ text: '3', toolCalls: [{ isError }] });
    expect(turn.toolCalls[0]?.result).toContain(content);
  });
});

describe('a turn that is cancelled while its tool runs', () => {
  test.each<[string, Execute]>([
    ['never settles', () => new Promise(() => {})],
    [
      'rejects once it is told',
      (signal) => new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason))),
    ],
    [
      'answers once it is told',
      (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('late'))),
    ],
  ])('ends at once though the tool %s, and the session answers the next', async (_, execute) => {
    let told: AbortSignal | undefined;
    const box = await open((signal) => {
      if (told) return 'second';
      told = signal;
      return execute(signal);
    });
    const turn = box.agent('helper').send('go', { session: 's' });
    await until(() => told !== undefined);
    const [run] = await box.listRuns();
    await run?.cancel();
    expect((await turn).finishReason).toBe('cancelled');
    expect(told?.aborted).toBe(true);
    expect(await run?.status()).toBe('cancelled');
    expect(await box.agent('helper').send('again', { session: 's' })).toMatchObject({
      text: '3',
      toolCalls: [{ result: 'second' }],
    });
  });
});
