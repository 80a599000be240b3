import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { defineDynamicConfig } from '../src/index.ts';
import type { SqlSession, StoreClient } from '../src/stores/client.ts';
import { createDrizzle } from '../src/stores/drizzle.ts';
import { createProviderStore } from '../src/provider/store.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import { createSecretStore } from '../src/secrets/store.ts';
import { OPERATIONS } from '../src/surface/index.ts';
import { confirm, decide, inTurn, startPlayedModel, talk, write } from './_copilot.ts';
import type { Asked, PlayedModel } from './_copilot.ts';
import { useDatabase } from './_database.ts';
import { call, setupBoxes } from './_setup.ts';
import type { TestBox } from './_setup.ts';

type Json = Record<string, unknown>;

const boxes = setupBoxes();
const database = useDatabase();
/** The marks that were left with a change, one a transaction. */
const marks: string[] = [];
let model: PlayedModel;
let box: TestBox;

beforeAll(async () => {
  model = await startPlayedModel();
  const { client } = database;
  const db = createDrizzle(toWatched(client), client.ready);
  const secretKey = newMasterKey();
  const secrets = createSecretStore({ db, key: secretKey, installation: 'here' });
  box = await boxes.share({
    agents: { triage: defineDeepAgent({ name: 'triage', instructions: 'Be correct.' }) },
    config: defineDynamicConfig({ limit: z.number().default(1) }),
    options: {
      db,
      isBlank: database.isBlank,
      secretKey,
      callEmbeddings: async ({ input }) => ({ vectors: input.map(() => [1, 0]), inputTokens: 0 }),
      provider: {
        environment: { baseUrl: model.url, apiKey: 'key' },
        store: createProviderStore(db, Promise.resolve(secrets)),
        egress: { allowLoopback: true, allowed: [] },
      },
    },
  })();
  await call(box, 'PUT /api/settings/copilot', { enabled: true });
});
afterAll(() => model.close());

const prompt = { ownerKind: 'workspace', key: 'greeting', name: 'Greeting', text: 'Hello.' };
const rule = { name: 'words', check: { kind: 'words', words: ['A-1'] }, sides: ['agent-output'], action: 'block' };
const target = { kind: 'agent', name: 'triage' };

/** All that the copilot may call and that change something. */
const WRITES = OPERATIONS.filter(({ kind, copilot }) => kind === 'write' && copilot === 'yes');

/** A call of each, in an order in which they can be made. `made` has what those before have answered. */
const CALLS: [id: string, input: (made: Record<string, Json>) => Json][] = [
  ['catalog.update', () => ({ kind: 'agent', name: 'triage', isHidden: true })],
  ['prompts.create', () => prompt],
  ['prompts.update', (made) => ({ id: idOf(made, 'prompts.create'), name: 'Other' })],
  ['prompts.add_version', (made) => ({ id: idOf(made, 'prompts.create'), text: 'Hi.' })],
  ['prompts.publish', (made) => ({ id: idOf(made, 'prompts.create'), version: 1 })],
  ['prompts.publish', (made) => ({ id: idOf(made, 'prompts.create'), version: 2 })],
  ['prompts.rollback', (made) => ({ id: idOf(made, 'prompts.create') })],
  ['prompts.delete', (made) => ({ id: idOf(made, 'prompts.create') })],
  ['guardrails.create', () => rule],
  ['guardrails.update', (made) => ({ id: idOf(made, 'guardrails.create'), name: 'other' })],
  ['guardrails.order', (made) => ({ ids: [idOf(made, 'guardrails.create')] })],
  ['guardrails.delete', (made) => ({ id: idOf(made, 'guardrails.create') })],
  [
    'evals.cases.create',
    () => ({ name: 'one', target, input: 'Hi', scorers: [{ type: 'contains', values: ['Hello'] }] }),
  ],
  ['evals.cases.update', (made) => ({ id: idOf(made, 'evals.cases.create'), note: 'first' })],
  ['evals.suites.create', (made) => ({ name: 'all', cases: [idOf(made, 'evals.cases.create')] })],
  ['evals.suites.update', (made) => ({ id: idOf(made, 'evals.suites.create'), note: 'first' })],
  ['evals.suites.run', (made) => ({ id: idOf(made, 'evals.suites.create') })],
  ['evals.runs.delete', (made) => ({ id: idOf(made, 'evals.suites.run') })],
  ['evals.suites.delete', (made) => ({ id: idOf(made, 'evals.suites.create') })],
  ['evals.cases.delete', (made) => ({ id: idOf(made, 'evals.cases.create') })],
  ['config.set', () => ({ key: 'limit', value: 5 })],
  ['config.delete', () => ({ key: 'limit' })],
  ['keys.update', (made) => ({ id: idOf(made, 'key'), name: 'other' })],
  ['keys.revoke', (made) => ({ id: idOf(made, 'key') })],
  ['secrets.set', () => ({ name: 'BANK', value: 'one' })],
  ['secrets.rotate', () => ({ name: 'BANK', value: 'two' })],
  ['secrets.delete', () => ({ name: 'BANK' })],
  ['provider.set', () => ({ baseUrl: model.url, apiKey: 'other' })],
  ['provider.delete', () => ({})],
  ['browser.set', () => ({ url: 'wss://127.0.0.1:1/{key}', apiKey: 'key-of-a-browser' })],
  ['browser.delete', () => ({})],
  ['settings.update', () => ({ name: 'Shop' })],
  ['settings.retention', () => ({ days: 30 })],
  ['connections.create', () => ({ id: 'notes', provider: 'notion' })],
  ['connections.set_credential', () => ({ id: 'notes', apiKey: 'a key of a service' })],
  ['connections.delete', () => ({ id: 'notes' })],
  [
    'triggers.create',
    () => ({
      name: 'in',
      target: { agent: 'triage' },
      signature: { scheme: 'token', header: 'x-t' },
      secret: 'between two',
    }),
  ],
  ['triggers.update', (made) => ({ id: idOf(made, 'triggers.create'), name: 'other' })],
  ['triggers.poll', (made) => ({ id: idOf(made, 'poll') })],
  ['triggers.redeliver', (made) => ({ id: idOf(made, 'triggers.create'), deliveryId: idOf(made, 'delivery') })],
  ['triggers.delete', (made) => ({ id: idOf(made, 'triggers.create') })],
  ['rag.collections.create', () => ({ name: 'notes', model: 'test/words' })],
  ['rag.collections.update', () => ({ name: 'notes', description: 'What is noted.' })],
  ['rag.collections.reindex', () => ({ name: 'notes', model: 'test/other' })],
  ['rag.documents.add', () => ({ name: 'notes', id: 'one', text: 'A note.' })],
  ['rag.documents.delete', () => ({ name: 'notes', id: 'one' })],
  ['rag.collections.delete', () => ({ name: 'notes' })],
  ['memory.clear', () => ({ user: 'ada' })],
  ['settings.key_expiry', () => ({ days: 30 })],
  ['settings.mcp', () => ({ enabled: true })],
  ['settings.copilot', () => ({ enabled: true })],
];

const POLL = { name: 'asks', target: { agent: 'triage' }, poll: { url: 'http://127.0.0.1:1/' } };

test('every write that settles by its mark commits its mark with its change, once', { timeout: 60_000 }, async () => {
  const { body: key } = await call(box, 'POST /api/keys', { name: 'k', grants: { agents: [], workflows: [] } });
  const made: Record<string, Json> = { key };
  const wrong: string[] = [];
  for (const [id, toInput] of CALLS) {
    if (id === 'evals.runs.delete') await ended(idOf(made, 'evals.suites.run'));
    if (id === 'triggers.redeliver') made.delivery = await sendTo(idOf(made, 'triggers.create'));
    if (id === 'triggers.poll') made.poll = (await call(box, 'POST /api/triggers', POLL)).body as Json;
    const before = marks.length;
    const answer = await callOf(id, toInput(made));
    made[id] = answer;
    if (answer.code !== undefined || marks.length !== before + 1)
      wrong.push(`${id}: ${marks.length - before} marks, ${JSON.stringify(answer).slice(0, 200)}`);
  }
  expect(wrong).toEqual([]);
  expect(
    WRITES.filter(({ settles }) => settles === undefined)
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual([...new Set(CALLS.map(([id]) => id))].toSorted());
});

test('every other write is called again under a key, or looked for', () => {
  const others = WRITES.flatMap(({ id, settles, headers }) => {
    if (settles === undefined) return [];
    if (settles === 'again') return headers?.['idempotency-key'] === undefined ? [`${id}: without a key`] : [];
    return 'isDone' in settles || 'begun' in settles ? [] : [`${id}: not at all`];
  });
  expect(others).toEqual([]);
  expect(OPERATIONS.filter((op) => !WRITES.includes(op) && op.settles !== undefined)).toEqual([]);
});

test('what is refused, or finds nothing to change, leaves no mark', async () => {
  const before = marks.length;
  for (const [id, input] of [
    ['prompts.publish', { id: crypto.randomUUID(), version: 1 }],
    ['config.set', { key: 'limit', value: 1, ifMatch: '7' }],
    ['settings.update', { timeZone: 'nowhere' }],
    // It asks the database, which has no row of that name.
    ['secrets.delete', { name: 'NONE' }],
  ] as const)
    expect((await callOf(id, input)).code).toEqual(expect.any(String));
  expect(marks.slice(before)).toEqual([]);
});

// --- internal ---

let threads = 0;

/** What a call of the copilot answers, once the person has approved it where that is asked. */
async function callOf(operation: string, input: Json): Promise<Json> {
  const thread = `t${++threads}`;
  let answer: Json = {};
  const play = inTurn(
    write(operation, input),
    (last) => {
      answer = last;
      return last.requestState === undefined ? 'Done.' : confirm(last);
    },
    (last) => {
      answer = last;
      return 'Done.';
    },
  );
  // What an eval run asks is the same model.
  const isCopilot = ({ tools = [] }: Asked) => tools.some((tool) => tool.function.name === 'confirm_operation');
  model.play = (asked, results) => (isCopilot(asked) ? play(asked, results) : 'Hello.');
  const told = await talk(box, thread, { text: 'Do it.' });
  if (told.interrupts.length > 0) await decide(box, thread, told, { decision: 'approve' });
  return answer;
}

const idOf = (made: Record<string, Json>, by: string) => made[by]?.id as string;

/** A delivery there is to repeat. */
async function sendTo(id: string): Promise<Json> {
  const headers = { 'x-t': 'between two' };
  const answer = await box.app.request(`/api/inbound/${id}`, { method: 'POST', headers, body: 'Hi' });
  return { id: ((await answer.json()) as { deliveryId: string }).deliveryId };
}

async function ended(id: string): Promise<void> {
  await expect.poll(async () => (await call(box, `GET /api/evals/runs/${id}`)).body.status, WAIT).not.toBe('running');
}

const WAIT = { timeout: 20_000 };

function toWatched(client: StoreClient): StoreClient {
  const watch = (session: SqlSession): SqlSession => ({
    ...session,
    async query<T>(text: string, params: unknown[] = []) {
      const rows = await session.query<T>(text, params);
      if (text.includes('"svc"."used_once"') && String(params[0]).startsWith('ran ')) marks.push(String(params[0]));
      return rows;
    },
  });
  return { ...client, transaction: (work) => client.transaction((session) => work(watch(session))) };
}
