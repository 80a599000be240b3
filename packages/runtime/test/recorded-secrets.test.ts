import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { sleep } from '../src/engine/primitives/sleep.ts';
import { createMask } from '../src/mask.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import { createMemoryKv } from '../src/stores/kv-memory.ts';
import { svc } from '../src/svc.ts';
import { call, finish, setupBoxes, startWorkflow, toStep, untilStatus } from './_setup.ts';
import type { TestBox, TestWorkflow } from './_setup.ts';

const boxes = setupBoxes();

const STORED = 'sk_live_SUPERSECRET_0123456789';
const VARIABLE = 'planted-in-the-environment~42';
const FOREIGN = 'token-of-somebody-else-777';
const SECRETS = [STORED, VARIABLE, FOREIGN];
const secretKey = newMasterKey();
const mask = createMask({ SHOP_PASSWORD: VARIABLE });

/** As clients of HTTP throw: with the request, its options and the answer. */
async function throwClientError(key: string): Promise<never> {
  const basic = Buffer.from(`shop:${VARIABLE}`).toString('base64');
  const headers = { authorization: `Bearer ${key}`, 'X-Api-Key': FOREIGN, accept: 'text/plain' };
  const request = new Request(`https://shop.example/v1?key=${encodeURIComponent(VARIABLE)}`, { headers });
  const response = new Response(`{"you sent":"${key}"}`, { status: 403, headers: { 'set-cookie': `sid=${FOREIGN}` } });
  throw Object.assign(
    new Error(`403 for ${request.url} with Basic ${basic}`, { cause: new Error(`The key ${key} is unknown.`) }),
    {
      name: 'HTTPError',
      code: 'http_error',
      request,
      response,
      options: { headers: { Authorization: `Bearer ${FOREIGN}`, cookie: [FOREIGN] }, attempt: 3 },
      address: new URL(`https://u:${VARIABLE}@shop.example/`),
      tried: new Map([['with', key]]),
    },
  );
}

const ask = toStep('ask', async () => throwClientError(await svc.secrets.get('SHOP_KEY')));
(ask as { maxRetries?: number }).maxRetries = 1;
const seen: unknown[] = [];
const note = toStep('note', async (value: unknown) => void seen.push(value));

const workflows: Record<string, TestWorkflow> = {
  fails: { run: async () => ask() },
  throws: { run: async () => throwClientError(VARIABLE) },
  catches: {
    async run() {
      try {
        return await ask();
      } catch (error) {
        const { message, code, options } = error as { message: string; code: string; options: { attempt: number } };
        await sleep('1s');
        await note({ message, code, attempt: options.attempt, error });
        return 'caught';
      }
    },
  },
};

async function openBox(more = {}): Promise<TestBox> {
  const box = await boxes.open({ workflows, options: { mask, secretKey, ...more } });
  await call(box, 'PUT /api/secrets/SHOP_KEY', { value: STORED }).catch(() => {});
  return box;
}

const expectClean = (text: string, what: string): void => {
  const forms = SECRETS.flatMap((secret) => [secret, encodeURIComponent(secret)]);
  const base64 = Buffer.from(`shop:${VARIABLE}`).toString('base64');
  expect([what, [...forms, base64].filter((form) => text.includes(form))]).toEqual([what, []]);
};

test.each(['fails', 'throws'])('a run that %s records and shows no credential of its error', async (name) => {
  const box = await openBox();
  const runId = await startWorkflow(box, name);
  const run = (await finish(box, runId)) as { error: { name: string; code: string; details: Record<string, unknown> } };
  expect(run.error).toMatchObject({
    name: 'HTTPError',
    code: 'http_error',
    message: expect.stringMatching(/^403 for https:\/\/shop\.example\/v1\?key=\[hidden\] with Basic \S*\[hidden\]\S*$/),
    cause: { message: 'The key [hidden] is unknown.' },
    details: {
      request: { method: 'GET', headers: { accept: 'text/plain', authorization: '[hidden]', 'x-api-key': '[hidden]' } },
      // In a step its body is a stream, which is not recorded.
      ...(name === 'throws' ? { response: { status: 403, headers: { 'set-cookie': '[hidden]' } } } : {}),
      options: { headers: { Authorization: '[hidden]', cookie: ['[hidden]'] }, attempt: 3 },
    },
  });
  for (const path of ['', '/steps', '/why', '/timeline', '/export', '/logs'])
    expectClean(await (await box.request(`/api/runs/${runId}${path}`)).text(), path);
  const kept = await box.journal.getRecords(runId);
  expectClean(JSON.stringify([kept, await box.journal.getRun(runId)]), 'the journal');
  for (const end of ['', '-wal']) expectClean(readFileSync(`${box.journalPath}${end}`, 'latin1'), `the file${end}`);
});

test('an error that was redacted is caught, handed on, and replayed after a restart', async () => {
  const box = await openBox();
  const runId = await startWorkflow(box, 'catches');
  await untilStatus(box, runId, 'waiting');
  const again = await box.restart();
  expect(await finish(again, runId)).toMatchObject({ status: 'completed', output: 'caught' });
  expect(seen).toMatchObject([{ code: 'http_error', attempt: 3, message: expect.stringContaining('[hidden]') }]);
  expectClean(JSON.stringify(await again.journal.getRecords(runId)), 'the journal');
});

test('a key is shown no details, and no stack', async () => {
  const kv = createMemoryKv();
  const dev = await openBox({ kv });
  const image = await openBox({ kv, host: 'image' });
  const { body: key } = await call<{ value: string }>(dev, 'POST /api/keys', {
    name: 'ci',
    grants: { workflows: 'all' },
  });
  const headers = { authorization: `Bearer ${key.value}` };
  const { body: started } = await call<{ runId: string }>(image, 'POST /api/workflows/fails/start', {}, headers);
  const path = `GET /api/workflows/runs/${started.runId}?wait=20s`;
  const { body } = await call<{ error: object }>(image, path, undefined, headers);
  expect(body.error).toEqual({
    name: 'HTTPError',
    code: 'http_error',
    message: expect.stringContaining('[hidden]'),
    stack: null,
    cause: { name: 'Error', code: 'run_failed', message: 'The key [hidden] is unknown.', stack: null, cause: null },
  });
});
