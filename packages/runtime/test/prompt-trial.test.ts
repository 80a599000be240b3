import { expect, test } from 'vitest';
import { z } from 'zod';
import { OWNER } from '../src/auth/caller.ts';
import { findRole } from '../src/auth/permissions.ts';
import type { Strategy } from '../src/auth/strategy.ts';
import { defineDeepAgent, defineTool, svc } from '../src/index.ts';
import { call, json, setupBoxes } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

const read = defineTool({
  description: 'Read the tone.',
  inputSchema: z.object({}),
  execute: async () => (await svc.prompts.get('tone')).text,
});
let names = 0;
const nameOf = () => `helper-${names}`;
/** The boxes of this file share one database. */
function newAgents() {
  names += 1;
  return { [nameOf()]: defineDeepAgent({ name: nameOf(), instructions: 'Of the code.', tools: { read } }) };
}

/** A token that names a role is of a person; `key` is of a key. */
const strategy: Strategy = {
  name: 'test',
  checksKeys: false,
  async authenticate(token) {
    const role = findRole(token) ?? null;
    return { ...OWNER, kind: role === null ? 'key' : 'person', by: role === null ? 'key' : 'identity token', role };
  },
};

interface Made {
  id: string;
}

async function create(box: TestBox, key: string, texts: string[]): Promise<string> {
  const [text, ...rest] = texts;
  const given = { ownerKind: 'agent', ownerName: nameOf(), key, name: key, text };
  const { id } = (await call<Made>(box, 'POST /api/prompts', given)).body;
  await call(box, `POST /api/prompts/${id}/publish`, {});
  for (const more of rest) await call(box, `POST /api/prompts/${id}/versions`, { text: more });
  return id;
}

async function turn(box: TestBox, prompts: unknown, { as = 'owner', said = 'say:ok' } = {}) {
  const messages = [{ id: crypto.randomUUID(), role: 'user', content: said }];
  const body = {
    threadId: crypto.randomUUID(),
    runId: 'r',
    messages,
    ...(prompts === undefined ? {} : { forwardedProps: { temperature: 0, svc: { prompts } } }),
  };
  const answer = await box.request(
    `/agui/v1/agents/${nameOf()}`,
    json(body, { headers: { authorization: `Bearer ${as}` } }),
  );
  const text = await answer.text();
  return { status: answer.status, code: answer.status === 200 ? undefined : JSON.parse(text).code, text };
}

const systemOf = (box: TestBox) => box.model.requests.at(-1)?.messages[0]?.content;
const lastRun = async (box: TestBox) =>
  (await call<{ items: { runId: string; attributes: Record<string, string> }[] }>(box, 'GET /api/runs?limit=1')).body
    .items[0];

test('a turn is asked with the version it names, which its run is marked with; what is in force stays', async () => {
  const box = await boxes.open({ agents: newAgents() });
  const id = await create(box, 'instructions', ['In force.', 'Tried.']);
  const tone = await create(box, 'tone', ['Kind.', 'Strict.']);
  await turn(box, { [id]: 2, [tone]: 2 }, { said: 'tool:read {}; say:done' });
  expect(systemOf(box)).toContain('Tried.');
  expect(JSON.stringify(box.model.requests.at(-1)?.messages)).toContain('Strict.');
  const run = await lastRun(box);
  expect(run?.attributes['svc.prompt.instructions']).toBe(`${id}@2`);
  expect(JSON.parse(run?.attributes['svc.prompts'] ?? '[]')).toMatchObject([
    { promptId: id, version: 2, key: 'instructions' },
    { promptId: tone, version: 2, key: 'tone' },
  ]);
  await turn(box, undefined, { said: 'tool:read {}; say:done' });
  expect(systemOf(box)).toContain('In force.');
  expect(JSON.stringify(box.model.requests.at(-1)?.messages)).toContain('Kind.');
  expect((await lastRun(box))?.attributes).not.toHaveProperty('svc.prompts');
  expect((await call(box, `GET /api/prompts/${id}`)).body).toMatchObject({ publishedVersion: 1 });
});

test('a caller who may not write prompts tries none, and learns nothing of them', async () => {
  const box = await boxes.open({ agents: newAgents(), options: { strategy } });
  const as = { headers: { authorization: 'Bearer owner' } };
  const made = await box.request(
    '/api/prompts',
    json({ ownerKind: 'agent', ownerName: nameOf(), key: 'instructions', name: 'x', text: 'Draft.' }, as),
  );
  const { id } = (await made.json()) as Made;
  const before = box.model.requests.length;
  for (const who of ['key', 'viewer', 'approver']) {
    expect(await turn(box, { [id]: 1 }, { as: who })).toMatchObject({ status: 403, code: 'forbidden' });
    expect(await turn(box, { nothing: 1 }, { as: who })).toMatchObject({ status: 403, code: 'forbidden' });
  }
  expect(box.model.requests.length).toBe(before);
  expect((await turn(box, undefined, { as: 'key' })).status).toBe(200);
  expect((await turn(box, { [id]: 1 }, { as: 'member' })).status).toBe(200);
  expect(systemOf(box)).toContain('Draft.');
});

test.each([
  [{ 'no-such-prompt': 1 }, 404, 'prompt_not_found'],
  ['all', 400, 'invalid_request'],
  [[1], 400, 'invalid_request'],
  [{ x: 0 }, 400, 'invalid_request'],
  [{ x: 'latest' }, 400, 'invalid_request'],
  [Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`p${n}`, 1])), 400, 'invalid_request'],
])('%j is refused before anything is asked', async (prompts, status, code) => {
  const box = await boxes.open({ agents: newAgents() });
  const before = box.model.requests.length;
  expect(await turn(box, prompts)).toMatchObject({ status, code });
  expect(box.model.requests.length).toBe(before);
});

test('a version that a prompt does not have is refused', async () => {
  const box = await boxes.open({ agents: newAgents() });
  const id = await create(box, 'instructions', ['One.']);
  expect(await turn(box, { [id]: 7 })).toMatchObject({ status: 404, code: 'prompt_version_not_found' });
});
