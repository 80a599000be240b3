import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { finish, call, json, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const refund = defineTool({
  description: 'Pay back.',
  inputSchema: z.object({ amount: z.number() }),
  execute: ({ amount }) => ({ amount }),
});

/** A server that answers another rule each time it is asked. */
async function serveRules(): Promise<{ url: string; asked(): number }> {
  let asked = 0;
  const server = createServer((_, response) => void response.end(`Rule ${++asked}.`));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked: () => asked };
}

const agentWith = (instructions: string | (() => string | Promise<string>)) => ({
  agents: { clerk: defineDeepAgent({ name: 'clerk', instructions, tools: { refund }, interruptOn: { refund: true } }) },
});
const systemOf = (box: TestBox) =>
  ((box.model.requests.at(-1)?.messages ?? []) as { role: string; content: string }[]).find(
    ({ role }) => role === 'system',
  )?.content;

/** A turn of a session that waits for an approval. Answers its run. */
async function pause(box: TestBox, content = 'tool:refund {"amount":5}; say:Done.'): Promise<string> {
  const body = { model: 'clerk', messages: [{ role: 'user', content }] };
  const headers = { authorization: 'Bearer dev', 'x-svc-session': 'ada' };
  await box.request('/wire-a/v1/chat/completions', json(body, { headers }));
  const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
  return run?.runId ?? '';
}

async function approve(box: TestBox): Promise<void> {
  const list = () => call<{ items: { approvalId: string }[] }>(box, 'GET /api/approvals?status=pending');
  await until(async () => (await list()).body.items.length === 1);
  const [asked] = (await list()).body.items;
  await call(box, `POST /api/approvals/${asked?.approvalId}/decide`, { decision: 'approve' });
}

test('instructions that are fetched are those of the whole turn, over an approval and a restart', async () => {
  const rules = await serveRules();
  const program = agentWith(async () => (await fetch(rules.url)).text());
  const before = await boxes.open(program);
  const runId = await pause(before);
  expect(systemOf(before)).toBe('Rule 1.');
  const box = await before.restart(program);
  await approve(box);
  expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: { content: 'Done.' } });
  expect([systemOf(box), rules.asked()]).toEqual(['Rule 1.', 1]);
});

test('instructions that are fetched behind what a rule holds are a step all the same, asked once over restarts', async () => {
  const rules = await serveRules();
  const program = agentWith(async () => (await fetch(rules.url)).text());
  const before = await boxes.open(program);
  const check = { kind: 'words', words: ['forbidden'] };
  const rule = {
    name: 'held',
    check,
    sides: ['agent-input'],
    action: 'hold',
    attachment: { kind: 'agent', name: 'clerk' },
  };
  expect((await call(before, 'POST /api/guardrails', rule)).status).toBe(201);
  const runId = await pause(before, 'tool:refund {"amount":6}; say:Not forbidden.');
  expect(rules.asked()).toBe(0);
  const next = await before.restart(program);
  await approve(next);
  await until(() => rules.asked() === 1);
  const isOfCall = async () =>
    (await call(next, 'GET /api/approvals?status=pending&source=tool')).body.items as object[];
  await until(async () => (await isOfCall()).length === 1);
  const box = await next.restart(program);
  await approve(box);
  expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: { content: 'Not forbidden.' } });
  const { body } = await call<{ items: { name: string }[] }>(box, `GET /api/runs/${runId}/steps`);
  expect(body.items.filter(({ name }) => name === 'instructions')).toHaveLength(1);
  expect([systemOf(box), rules.asked()]).toEqual(['Rule 1.', 1]);
});

test('a turn that began before its instructions were recorded goes on', async () => {
  const before = await boxes.open(agentWith('As text.'));
  const runId = await pause(before);
  const box = await before.restart(agentWith(() => 'From a function.'));
  await approve(box);
  expect(await finish(box, runId)).toMatchObject({ status: 'completed' });
  expect(systemOf(box)).toBe('From a function.');
});

test('a function that throws fails its turn with what it says', async () => {
  const box = await boxes.open(
    agentWith(() => {
      throw new Error('The rules are locked.');
    }),
  );
  const runId = await pause(box);
  expect(await finish(box, runId)).toMatchObject({ status: 'failed', error: { message: 'The rules are locked.' } });
});
