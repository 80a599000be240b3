import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, vi } from 'vitest';
import { z } from 'zod';
import { defineDynamicConfig } from '../../runtime/src/config-values/define.ts';
import { defineDeepAgent } from '../../runtime/src/definitions/definition.ts';
import { requestApproval } from '../../runtime/src/engine/primitives/approval.ts';
import { createHook } from '../../runtime/src/engine/primitives/hook.ts';
import { createLog } from '../../runtime/src/log.ts';
import { createDrizzle } from '../../runtime/src/stores/drizzle.ts';
import { svc } from '../../runtime/src/svc.ts';
import { createLazyDatabase } from '../../runtime/src/testing/database.ts';
import { defineConfig } from '../../runtime/src/workspace-config.ts';
import { createAgent } from '../../runtime/test/_agui.ts';
import { call, json, runWorkflow, startWorkflow, toStep, until, untilStatus } from '../../runtime/test/_setup.ts';
import type { TestBox } from '../../runtime/test/_setup.ts';
import { serveBox } from './_box.ts';
import type { ServedBox } from './_box.ts';
import { serveObjects } from './_objects.ts';

/** A name as long as people make them, without a place to break it at. */
const LONG = 'reconcile-payments-of-all-regions-with-the-ledger-of-the-month';
const PHRASE = 'The kettle of a customer arrived broken, who asks for the money back politely.';

/** A box in which every screen has something to show: one of each, with texts as long as they come. */
export function serveFilledBox(): () => ServedBox {
  const objects = serveObjects();
  const database = createLazyDatabase();
  const db = createDrizzle(database.client, database.client.ready);
  const log = createLog({ level: 'silent', write() {} });
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(204).end());
  });
  beforeAll(async () => {
    vi.stubEnv('NOTIFY_SECRET', Buffer.alloc(32, 7).toString('base64'));
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    receiver.closeAllConnections();
    receiver.close();
    await database.close();
  });
  const served = serveBox(() => {
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/svc`;
    const { notify } = defineConfig({ notify: [{ name: 'ops', url, secret: 'NOTIFY_SECRET' }] });
    return {
      agents: {
        helper: createAgent(),
        friend: defineDeepAgent({ name: 'friend', instructions: 'Help.', memory: true, planning: true, files: true }),
      },
      workflows: toWorkflows(),
      config: defineDynamicConfig({
        maxRefund: z.number().max(100).default(50).describe('What is paid back without asking'),
        limits: z.object({ perDay: z.int().default(5), note: z.string().optional() }).default({ perDay: 5 }),
      }),
      options: {
        log,
        records: log,
        db,
        readable: { kind: 'embedded', pglite: database.pglite },
        storage: objects.storage(),
        embeddingModel: () => 'test/words',
        rag: { everyMs: 20, pauseMs: 10 },
        memory: { everyMs: 20, pauseMs: 10 },
        notify: () => notify,
        notifyLimits: { delays: [5], pauseMs: 20, longestPauseMs: 50, timeoutMs: 20_000 },
        engine: { sweepMs: 20 },
      },
    };
  });
  beforeAll(async () => {
    const { box } = served();
    await Promise.all([fillRuns(box), fillRest(box)]);
    await fillEvals(box);
    await database.client.exec(TABLES);
    for (const key of ['receipts/2026/march.csv', `receipts/${LONG}.txt`, 'readme'])
      await objects.storage().put(key, 'a,b\n'.repeat(50), { contentType: 'text/csv' });
  });
  return served;
}

// --- internal ---

const TABLES = `
  create table notes (id int primary key, body text not null, tag text, doc jsonb);
  insert into notes select n, 'Note ' || n || ' of what the customer wrote', case when n % 3 = 0 then null else 't' || n end,
    jsonb_build_object('n', n, 'words', jsonb_build_array('a', 'b')) from generate_series(1, 60) n;
  analyze notes;`;

function toWorkflows() {
  const reserve = toStep('reserve', (order: unknown) => {
    svc.log.info('Packed the box.', { weight: 12, note: PHRASE });
    return { reserved: order, at: 'shelf 4' };
  });
  const charge = toStep('charge', () => {
    svc.log.warn('The card is about to expire.');
    throw Object.assign(new Error(`The card was declined. ${PHRASE}`), { fatal: true });
  });
  return {
    [LONG]: {
      run: async (input: unknown) => reserve(input),
      schedules: [{ cron: '0 0 29 2 *', input: { region: 1 } }],
    },
    order: {
      async run(input: unknown) {
        await reserve(input);
        return charge();
      },
      inputSchema: z.object({
        orderId: z.string().describe('As it stands on the receipt'),
        amount: z.number().max(1_000).optional(),
        how: z.enum(['post', 'courier']).optional(),
        lines: z.array(z.object({ item: z.string(), count: z.int() })).optional(),
      }),
    },
    outer: {
      run: async (input: unknown) => [await reserve(input), await svc.workflows.startAndWait(LONG, input)],
    },
    waits: { run: async () => createHook({ token: 'never' }) },
    asks: {
      run: async () =>
        requestApproval({ title: `Pay it back? ${PHRASE}`, payload: { order: 'A-100', amount: 500, why: PHRASE } }),
    },
  };
}

async function fillRuns(box: TestBox): Promise<void> {
  await runWorkflow(box, LONG, { region: 'eu', note: PHRASE });
  await runWorkflow(box, 'outer', { region: 'us' });
  await untilStatus(box, await startWorkflow(box, 'waits'), 'waiting');
  await untilStatus(box, await startWorkflow(box, 'asks'), 'waiting');
  const { value } = await post<{ value: string }>(box, 'POST /api/keys', {
    name: 'the till of the shop at the corner',
    client: 'shop',
    users: true,
    grants: { agents: 'all', workflows: 'all' },
    limits: { requestsPerMinute: 100, users: { tokensPerDay: 100_000 } },
  });
  await say(box, 'friend', 'ada', `${PHRASE}; say:I am sorry.`, {
    authorization: `Bearer ${value}`,
    'x-svc-user': 'ada',
  });
  await say(box, 'helper', 'first', `reason:It is a sum.\ntool:add {"a": 1, "b": 2}\nsay:It is **3**. ${PHRASE}`);
  await say(box, 'helper', 'second', 'tool:refund {"order": "A-100", "amount": 5}\nsay:It is done.');
  // Last, so that the newest run, which is opened, has all there is to a run.
  await runWorkflow(box, 'order', { orderId: `A-100-${LONG}`, amount: 500 });
}

async function fillRest(box: TestBox): Promise<void> {
  await post(box, 'PUT /api/secrets/BANK_KEY_OF_THE_SHOP_AT_THE_CORNER', { value: 'never-shown' });
  await post(box, 'PUT /api/config/maxRefund', { value: 75 });
  const prompt = { ownerKind: 'agent', ownerName: 'helper', key: 'instructions', name: `How to help: ${PHRASE}` };
  const { id } = await post<{ id: string }>(box, 'POST /api/prompts', { ...prompt, text: 'Be kind, {{name}}.' });
  await post(box, `POST /api/prompts/${id}/versions`, { text: 'Be kind and brief, {{name}}.', note: 'shorter' });
  await post(box, 'POST /api/guardrails', {
    name: `No rivals: ${PHRASE}`,
    check: { kind: 'words', words: ['Initech'] },
    sides: ['agent-output', 'tool-result'],
    action: 'block',
  });
  await post(box, 'POST /api/connections', {
    id: 'shop-of-the-corner',
    provider: 'custom',
    auth: 'api_key',
    baseUrl: 'http://127.0.0.1:9/api/of/the/shop/at/the/corner/',
  });
  await post(box, 'POST /api/triggers', {
    name: `What was bought: ${PHRASE}`,
    target: { workflow: 'order' },
    signature: { scheme: 'github' },
    secret: 'a-secret-of-the-shop',
    mapping: { input: { orderId: '{{body.title}}' } },
  });
  await post(box, 'POST /api/rag/collections', { name: 'handbook', description: PHRASE });
  await post(box, 'POST /api/rag/collections/handbook/documents', { id: 'leave', text: `# Leave\n\n${PHRASE}` });
  const isReady = async () => (await call(box, 'GET /api/rag/collections/handbook')).body['index'] as { state: string };
  await until(async () => (await isReady()).state === 'ready', 20_000);
}

async function fillEvals(box: TestBox): Promise<void> {
  const target = { kind: 'agent', name: 'helper' };
  const cases = [];
  for (const [name, expected] of [
    ['greets', 'Good day.'],
    [`answers: ${PHRASE}`, 'Good night.'],
  ]) {
    const given = { name, target, input: 'say:Good day.', expected, scorers: [{ type: 'exact' }] };
    cases.push((await post<{ id: string }>(box, 'POST /api/evals/cases', given)).id);
  }
  const scorers = [{ type: 'latency', maxMs: 600_000 }];
  await post(box, 'POST /api/evals/suites', { name: 'smoke', cases, scorers });
  const { id } = await post<{ id: string }>(box, 'POST /api/evals/suites/smoke/run', { note: PHRASE });
  await until(async () => (await call(box, `GET /api/evals/runs/${id}`)).body['status'] === 'completed', 30_000);
}

async function post<Answer>(box: TestBox, route: string, body: unknown): Promise<Answer> {
  const answer = await call<Answer>(box, route, body);
  if (answer.status >= 300) throw new Error(`${route} was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function say(
  box: TestBox,
  model: string,
  session: string,
  content: string,
  headers: Record<string, string> = { authorization: 'Bearer any' },
): Promise<void> {
  const body = { model, messages: [{ role: 'user', content }] };
  const init = json(body, { headers: { ...headers, 'x-svc-session': session } });
  const answer = await box.request('/wire-a/v1/chat/completions', init);
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`A turn was answered ${answer.status}: ${text}`);
}
