import { expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import type { AgentEntry, Program } from '../src/manifest.ts';
import { json, setupBoxes } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

/** A workspace of one agent with these files beside its code. */
function toProgram(agent: object, texts: Partial<AgentEntry>): Program {
  const entry = { name: 'guide', file: 'deep-agents/guide/index.ts', ...texts };
  const exports = { default: defineDeepAgent({ name: 'guide', ...agent }) };
  return {
    manifest: { version: 1, agents: [entry], workflows: [] },
    load: async () => ({ exports, hash: 'hash' }),
  };
}

const open = (agent: object, texts: Partial<AgentEntry>) =>
  boxes.open({ options: { loadProgram: async () => toProgram(agent, texts) } });

async function ask(box: TestBox, content: string): Promise<{ role: string; content: string }[]> {
  const headers = { authorization: 'Bearer dev' };
  const body = { model: 'guide', messages: [{ role: 'user', content }] };
  await box.request('/wire-a/v1/chat/completions', json(body, { headers }));
  return (box.model.requests.at(-1)?.messages ?? []) as never;
}

const refund = { name: 'refund', description: 'How to pay back.', text: 'Ask first.' };

test('instructions.md stands before the instructions in the code', async () => {
  const box = await open({ instructions: () => 'From the code.' }, { instructions: 'From the file.' });
  expect((await ask(box, 'say:hello'))[0]?.content).toBe('From the file.\n\nFrom the code.');
});

test('a reload brings the files that changed', async () => {
  const box = await open({}, { instructions: 'Before.' });
  expect((await ask(box, 'say:hello'))[0]?.content).toBe('Before.');
  await box.reload(toProgram({}, { instructions: 'After.' }));
  expect((await ask(box, 'say:hello'))[0]?.content).toBe('After.');
});

test('a skill is named to the model, and read when it asks', async () => {
  const own = { name: 'own', description: 'Of the code.', text: 'Own text.' };
  const box = await open({ skills: [own] }, { skills: [refund] });
  const messages = await ask(box, 'tool:read_skill {"name":"refund"}\ntool:read_skill {"name":"other"}\nsay:Done.');
  expect(messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
    'Ask first.',
    'There is no skill "other". Skills: own, refund.',
  ]);
  const [tool] = (box.model.requests.at(-1)?.tools ?? []) as { function: { description: string } }[];
  expect(tool?.function.description).toContain('- own: Of the code.\n- refund: How to pay back.');
});

test('a skill in the code with the name of a file keeps the agent from loading', async () => {
  const box = await open({ skills: [refund] }, { skills: [refund] });
  expect(box.problems()).toMatchObject([
    { message: 'Two of its skills are named "refund". Give one of them another name.' },
  ]);
});
