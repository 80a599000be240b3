import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { defineDynamicConfig } from '../src/config-values/define.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { sleep } from '../src/engine/primitives/sleep.ts';
import type { OpenApiDocument } from '../src/openapi/document.ts';
import { startPrism } from './_prism.ts';
import type { Proxied } from './_prism.ts';
import { call, setupBoxes, toStep, until } from './_setup.ts';

const boxes = setupBoxes();
const KEY = { authorization: 'Bearer any' };

const refund = defineTool({ description: 'Pays back.', inputSchema: z.object({}), execute: () => 'paid' });
const double = toStep('double', (n: number) => n * 2);

const PROGRAM = {
  agents: { helper: defineDeepAgent({ name: 'helper', tools: { refund }, interruptOn: { refund: true } }) },
  workflows: {
    echo: {
      run: async ({ n }: { n: number }) => ({ n: await double(n) }),
      inputSchema: z.object({ n: z.number() }),
      outputSchema: z.object({ n: z.number() }),
    },
    ask: { run: async () => requestApproval({ title: 'Go on?', payload: { n: 1 } }) },
    rest: { run: async () => sleep('1 hour'), serial: true },
    fails: {
      run: async () => {
        throw new Error('broken');
      },
    },
    daily: { run: async () => 1, schedules: [{ cron: '0 9 * * 1', input: {} }] },
  },
  config: defineDynamicConfig({ greeting: z.string().default('Hello') }),
};

test('a validating proxy before a box finds every answer as the document says', { timeout: 120_000 }, async () => {
  const box = await boxes.open(PROGRAM);
  const { body: document } = await call(box, 'GET /api/openapi.json');
  const proxy = await startPrism(document, await box.listen());
  const wrong: string[] = [];
  const seen = new Set<number>();
  /** A call that the document allows. */
  const send = async (route: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await proxy.send<Json>(route, body, { ...KEY, ...headers });
    wrong.push(...answer.wrong.request, ...answer.wrong.response);
    if (answer.status >= 400) wrong.push(`${route} was refused: ${answer.text}`);
    return answer.body;
  };
  /** One that the box refuses. */
  const refused = async (status: number, route: string, body?: unknown, headers: Record<string, string> = KEY) => {
    const answer: Proxied<Json> = await proxy.send<Json>(route, body, headers);
    wrong.push(...answer.wrong.response);
    if (answer.status !== status) wrong.push(`${route} is not ${status}: ${answer.text}`);
    seen.add(answer.status);
  };

  for (const path of ['/', '/live', '/health', '/api/contract', '/api/health', '/api/services', '/api/openapi.json'])
    await send(`GET ${path}`);

  const started = await send('POST /api/workflows/echo/start', { n: 2 }, { 'idempotency-key': 'once' });
  const runId = String(started.runId);
  await refused(409, 'POST /api/workflows/echo/start', { n: 3 }, { 'idempotency-key': 'once' });
  expect(await send(`GET /api/runs/${runId}?wait=20s`)).toMatchObject({ status: 'completed', output: { n: 4 } });
  const failed = String((await send('POST /api/workflows/fails/start')).runId);
  await until(async () => (await send(`GET /api/runs/${failed}`)).status === 'failed', WAIT_MS);
  await send(`POST /api/runs/${failed}/retry`, { from: 'start' });
  await send(`GET /api/runs/${failed}/why`);
  for (const path of ['', '/stats', `/${runId}/steps`, `/${runId}/timeline`, `/${runId}/logs`, `/${runId}/why`])
    await send(`GET /api/runs${path}`);
  await send('GET /api/runs?status=completed&limit=1');
  const { items: steps } = await send(`GET /api/runs/${runId}/steps`);
  await send(`GET /api/runs/${runId}/steps/${String((steps as Json[])[0]?.stepId)}`);
  await refused(404, 'GET /api/runs/none');
  await refused(400, 'GET /api/runs?status=nope');
  await refused(400, 'GET /api/runs?cursor=nope');
  await refused(400, 'POST /api/workflows/echo/start', { n: 'two' });
  await refused(404, 'POST /api/workflows/none/start');
  await refused(409, `POST /api/runs/${runId}/cancel`);
  await send(`DELETE /api/runs/${failed}`);

  const rests = await Promise.all([1, 2].map(() => send('POST /api/workflows/rest/start')));
  const first = rests.find(({ status }) => status === 'started');
  await send('GET /api/workflows/rest/queue');
  await send(`DELETE /api/workflows/rest/queue/${String(rests.find((one) => one !== first)?.triggerId)}`);
  await send(`POST /api/runs/${String(first?.runId)}/cancel`);
  for (const path of ['', '/echo', '/echo/schema', `/runs/${runId}`]) await send(`GET /api/workflows${path}`);

  await send('POST /api/workflows/ask/start');
  const pending = async () => ((await send('GET /api/approvals?status=pending')).items as Json[])[0]?.approvalId;
  await until(async () => (await pending()) !== undefined, WAIT_MS);
  const approvalId = String(await pending());
  await send(`GET /api/approvals/${approvalId}`);
  await send(`POST /api/approvals/${approvalId}/decide`, { decision: 'approve', note: 'Fine.' });
  await refused(409, `POST /api/approvals/${approvalId}/decide`, { decision: 'reject' });
  await refused(400, `POST /api/approvals/${approvalId}/decide`, { decision: 'maybe' });
  await refused(404, 'GET /api/approvals/none');

  const messages = [{ role: 'user', content: 'say:hello' }];
  for (const stream of [false, true]) {
    await send('POST /wire-a/v1/chat/completions', { model: 'helper', messages, stream });
    await send('POST /wire-b/v1/messages', { model: 'helper', max_tokens: 100, messages, stream });
  }
  await send('POST /wire-a/v1/chat/completions', { model: 'helper', messages }, { 'x-svc-session': 'talk' });
  const agui = {
    threadId: 't',
    runId: 'r',
    state: {},
    messages: [{ id: 'm', ...messages[0] }],
    tools: [],
    context: [],
  };
  await send('POST /agui/v1/agents/helper', { ...agui, forwardedProps: {} });
  for (const path of ['/wire-a/v1/models', '/wire-a/v1/models/helper', '/wire-b/v1/models', '/wire-b/v1/models/helper'])
    await send(`GET ${path}`);
  await send('POST /wire-b/v1/messages/count_tokens', { model: 'helper', messages });
  for (const path of ['/wire-a/v1/chat/completions', '/wire-b/v1/messages']) {
    await refused(404, `POST ${path}`, { model: 'none', max_tokens: 1, messages });
    await refused(400, `POST ${path}`, { model: 'helper', max_tokens: 1, messages: 'none' });
    await refused(401, `POST ${path}`, { model: 'helper', max_tokens: 1, messages }, {});
  }

  const pays = { model: 'helper', messages: [{ role: 'user', content: 'tool:refund {}\nsay:done' }] };
  await send('POST /wire-a/v1/chat/completions', pays, { 'x-svc-session': 'pays' });
  await until(async () => (await pending()) !== undefined, WAIT_MS);
  await send(`POST /api/approvals/${String(await pending())}/decide`, { decision: 'approve' });

  const { items: sessions } = await send('GET /api/sessions');
  const sessionId = String((sessions as Json[])[0]?.sessionId);
  for (const path of ['', '/messages', '/runs']) await send(`GET /api/sessions/${sessionId}${path}`);
  await refused(404, 'GET /api/sessions/none');
  await send(`DELETE /api/sessions/${sessionId}`);

  const grants = { agents: 'all', workflows: ['echo'] };
  const { id } = await send('POST /api/keys', { name: 'proxy', grants });
  await send('GET /api/keys');
  await send(`PATCH /api/keys/${String(id)}`, { name: 'renamed' });
  await send(`POST /api/keys/${String(id)}/revoke`);
  await refused(400, 'POST /api/keys', { name: 1 });
  await refused(404, 'PATCH /api/keys/none', { name: 'x' });

  await send('GET /api/config');
  await send('PUT /api/config/greeting', { value: 'Good day' });
  await send('GET /api/config/greeting');
  await send('GET /api/config/greeting/history');
  await refused(400, 'PUT /api/config/greeting', { value: 7 });
  await refused(404, 'GET /api/config/none');
  await send('DELETE /api/config/greeting');

  const prompt = { ownerKind: 'agent', ownerName: 'helper', key: 'instructions', name: 'Helper', text: 'Be brief.' };
  const { id: promptId } = await send('POST /api/prompts', prompt);
  await refused(409, 'POST /api/prompts', prompt);
  await send(`POST /api/prompts/${String(promptId)}/versions`, { text: 'Be briefer.' });
  await send(`POST /api/prompts/${String(promptId)}/publish`, { version: 1 });
  await send(`POST /api/prompts/${String(promptId)}/publish`, { version: 2 });
  await send(`POST /api/prompts/${String(promptId)}/rollback`);
  for (const path of ['', '/versions', '/versions/1', '/diff?from=1&to=2'])
    await send(`GET /api/prompts/${String(promptId)}${path}`);
  await send('GET /api/prompts');
  await send(`PATCH /api/prompts/${String(promptId)}`, { name: 'Helper 2' });
  await send(`DELETE /api/prompts/${String(promptId)}`);
  await refused(404, 'GET /api/prompts/none');

  await send('PUT /api/secrets/TOKEN', { value: 'planted' });
  await refused(409, 'PUT /api/secrets/TOKEN', { value: 'again' });
  await send('POST /api/secrets/TOKEN/rotate', { value: 'again' });
  await send('GET /api/secrets');
  await send('GET /api/secrets/TOKEN');
  await send('DELETE /api/secrets/TOKEN');
  await refused(404, 'GET /api/secrets/TOKEN');

  for (const path of ['settings', 'settings/setup', 'model-provider', 'models', 'logs', 'recurring-jobs', 'discovery'])
    await send(`GET /api/${path}`);
  await send('PATCH /api/settings', { timeZone: 'Europe/Paris' });
  const { items: jobs } = await send('GET /api/recurring-jobs');
  await send(`GET /api/recurring-jobs/${String((jobs as Json[])[0]?.id ?? (jobs as Json[])[0]?.jobId)}`);
  for (const path of ['', '/agent/helper', '/workflow/echo', '/operations', '/operations/runs.cancel'])
    await send(`GET /api/catalog${path}`);
  const { items: records } = await send('GET /api/activity');
  await send(`GET /api/activity/${String((records as Json[])[0]?.id ?? (records as Json[])[0]?.activityId)}`);
  await refused(404, 'GET /api/activity/none');

  expect(wrong).toEqual([]);
  expect([...seen].toSorted()).toEqual([400, 401, 404, 409]);
});

test('the proxy finds an answer that is not as a document says', { timeout: 120_000 }, async () => {
  const box = await boxes.open(PROGRAM);
  const { components, ...rest } = (await call<OpenApiDocument>(box, 'GET /api/openapi.json')).body;
  const { Contract = {} } = components.schemas;
  const schemas = { ...components.schemas, Contract: { ...Contract, required: ['nothing'] } };
  const proxy = await startPrism({ ...rest, components: { ...components, schemas } }, await box.listen());
  const { wrong } = await proxy.send('GET /api/contract');
  expect(wrong.response).toEqual([expect.stringContaining("required property 'nothing'")]);
});

// --- internal ---

type Json = Record<string, unknown>;
const WAIT_MS = 20_000;
