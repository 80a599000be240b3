import { describe, expect, test } from 'vitest';
import { createWebhook } from '../src/engine/primitives/hook.ts';
import { listHooks } from '../src/engine/stores/contract/world.ts';
import { createMasker } from '../src/runs/mask.ts';
import { fromRecordedValue, toRecordedValue } from '../src/runs/recording.ts';
import type { Recording } from '../src/runs/recording.ts';
import { decode, encode } from '../src/engine/serialize.ts';
import { listSecretValues } from '../src/secret-variables.ts';
import { call, runWorkflow, setupBoxes, startWorkflow, toStep, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

const PLANTED = 'sk-live/Planted+Secret 1';

const exportRun = async (box: TestBox, id: string): Promise<Recording> => {
  const { status, body } = await call<Recording>(box, `GET /api/runs/${id}/export`);
  expect(status).toBe(200);
  return body;
};

describe('the history of a run', () => {
  test('holds the run, its records and its steps, with values JSON cannot hold in the tagged form of the journal', async () => {
    const when = new Date('2026-01-02T03:04:05Z');
    const load = toStep('load', async (id: number) => ({ id, when, tags: new Set(['a']) }));
    const box = await boxes.open({ workflows: { work: { run: async ({ id }: { id: number }) => load(id) } } });
    const run = await runWorkflow(box, 'work', { id: 7 });
    const history = await exportRun(box, String(run.runId));
    expect(history).toMatchObject({
      format: 'svc.run',
      version: 1,
      box: { url: 'http://127.0.0.1:4242' },
      run: {
        runId: run.runId,
        name: 'work',
        kind: 'workflow',
        status: 'completed',
        codeHash: 'hash',
        input: { json: { id: 7 } },
      },
      records: [
        { seq: 0, call: 0, event: 'done', stepId: 'workflows/test.workflow.ts#load', input: { json: { args: [7] } } },
      ],
      steps: [{ name: 'load', output: { id: 7, when: when.toISOString(), tags: ['a'] } }],
      children: [],
      masked: [],
    });
    const text = fromRecordedValue(history.records[0]?.output ?? null);
    expect(decode(text ?? '')).toEqual({ id: 7, when, tags: new Set(['a']) });
    expect(text).toBe((await box.journal.getRecords(String(run.runId)))[0]?.output);
  });

  test('names the runs it started', async () => {
    const { svc } = await import('../src/index.ts');
    const child = { run: async () => ({ password: 'hunter2-hunter2' }) };
    const parent = { run: async () => void (await svc.workflows.startAndWait('child', {})) };
    const box = await boxes.open({ workflows: { child, parent } });
    const run = await runWorkflow(box, 'parent');
    const { children } = await exportRun(box, String(run.runId));
    expect(children).toMatchObject([{ name: 'child', parentRunId: run.runId, output: { password: '__masked_1__' } }]);
  });

  test('is refused when it is larger than a document may be', async () => {
    const large = toStep('large', async () => 'x'.repeat(1_000_000));
    const run = async () => {
      for (let i = 0; i < 17; i++) await large();
    };
    const box = await boxes.open({ workflows: { work: { run } } });
    const { runId } = await runWorkflow(box, 'work');
    expect(await call(box, `GET /api/runs/${String(runId)}/export`)).toMatchObject({
      status: 413,
      body: { code: 'run_too_large', details: { limit: 16_777_216 } },
    });
  });

  test('of no run is 404', async () => {
    const box = await boxes.open();
    expect(await call(box, 'GET /api/runs/nope/export')).toMatchObject({
      status: 404,
      body: { code: 'run_not_found' },
    });
  });
});

describe('secrets in the history of a run', () => {
  test('the key of the provider and stored secrets are hidden wherever they occur, and the places are named', async () => {
    const ask = toStep('ask', async () => ({
      said: `I use ${PLANTED} and provider-key.`,
      map: new Map([['k', PLANTED]]),
    }));
    const fail = toStep('fail', async () => {
      throw Object.assign(new Error(`Refused: ${PLANTED}`), { fatal: true });
    });
    const run = async (input: { note: string }) => {
      await ask();
      await fail().catch(() => {});
      return `https://api.example.com/?key=${encodeURIComponent(PLANTED)}&note=${input.note}`;
    };
    const box = await boxes.open({
      workflows: { work: { run } },
      options: { secretValues: async () => [PLANTED] },
    });
    const { runId } = await runWorkflow(box, 'work', { note: `n ${PLANTED}` });
    const history = await exportRun(box, String(runId));
    const text = JSON.stringify(history);
    expect(text).not.toContain(PLANTED);
    expect(text).not.toContain(encodeURIComponent(PLANTED));
    expect(text).not.toContain('provider-key');
    expect(history.run.input).toEqual({ json: { note: 'n __masked_1__' } });
    expect(history.steps[0]?.output).toMatchObject({ said: 'I use __masked_1__ and __masked_2__.' });
    expect(history.steps[1]?.error?.message).toBe('Refused: [hidden]');
    expect(history.masked).toEqual(expect.arrayContaining(['run.input.json.note', 'run.output.json']));
    expect(history.masked.some((path) => path.startsWith('records[0].output.devalue['))).toBe(true);
  });

  test('what a field or a header that is named like a secret holds is hidden there, and wherever else it occurs', async () => {
    const login = toStep('login', async () => ({
      token: 'tok-0123456789',
      pin: { password: 'p1' },
      api_key: 12_345_678,
    }));
    const use = toStep(
      'use',
      async (_token: string) => new Headers({ Authorization: 'Bearer abc.def.ghi-jkl', accept: '*/*' }),
    );
    const run = async () => {
      const { token } = await login();
      await use(token);
      return 'sent abc.def.ghi-jkl';
    };
    const box = await boxes.open({ workflows: { work: { run } } });
    const { runId } = await runWorkflow(box, 'work');
    const history = await exportRun(box, String(runId));
    const text = JSON.stringify(history);
    for (const secret of ['tok-0123456789', 'p1"', '12345678', 'abc.def.ghi-jkl']) expect(text).not.toContain(secret);
    expect(history.records[0]?.output).toEqual({
      json: { token: '__masked_1__', pin: { password: '__masked__' }, api_key: expect.stringMatching(/^__masked/) },
    });
    expect(history.records[1]?.input).toEqual({ json: { args: ['__masked_1__'] } });
    expect(history.records[1]?.isMasked).toBe(true);
    expect(text).toContain('*/*');
  });

  test('the token of a webhook is hidden in the history and in the address made of it', async () => {
    const tell = toStep('tell', async (url: string) => url.length);
    const run = async () => {
      const hook = createWebhook();
      await tell(hook.url);
      await hook;
    };
    const box = await boxes.open({ workflows: { work: { run } } });
    const runId = await startWorkflow(box, 'work');
    await untilStatus(box, runId, 'waiting');
    const [hook] = await listHooks(box.journal, runId);
    const history = await exportRun(box, runId);
    expect(JSON.stringify(history)).not.toContain(hook?.token);
    const [, received] = history.steps;
    expect(received?.input).toEqual({ args: ['http://127.0.0.1:4242/api/webhooks/__masked_1__'] });
  });
});

describe('the environment', () => {
  test('its keys, tokens, passwords and the passwords of its addresses are secrets', () => {
    const env = {
      MODEL_PROVIDER_API_KEY: 'model-key',
      SVC_SECRET_KEY: 'c2VjcmV0LWtleQ==',
      HMAC_SECRET: 'hmac-secret',
      STRIPE_TOKEN: 'stripe-token',
      DATABASE_URL: 'postgres://svc:p%40ssword@db:5432/svc',
      SSL_KEY: '/etc/ssl/key.pem',
      MAX_TOKENS: '100000',
      PORT: '8080',
      A_KEY: 'short',
    };
    expect(listSecretValues(env)).toEqual(['model-key', 'c2VjcmV0LWtleQ==', 'hmac-secret', 'stripe-token', 'p@ssword']);
  });
});

describe('masking flattened values', () => {
  test.each([
    ['a Map', new Map([['password', 'hunter2-secret']])],
    ['bytes that are text', new TextEncoder().encode('key planted-secret end')],
    ['an Error with fields', Object.assign(new Error('No.'), { token: 'hunter2-secret' })],
    ['text shared with another field', { at: new Date(0), token: 'id', kind: 'id' }],
    ['undefined', undefined],
  ])('%s stays a value of its kind', (_, value) => {
    const recorded = toRecordedValue(encode(value, 'value'));
    if (!recorded || !('devalue' in recorded)) throw new Error('It is not flattened.');
    const masker = createMasker(['planted-secret']);
    masker.learnFlat(recorded.devalue);
    const hidden = decode(fromRecordedValue({ devalue: masker.maskFlat(recorded.devalue, 'v') }) ?? '');
    expect(Object.prototype.toString.call(hidden)).toBe(Object.prototype.toString.call(value));
    const text =
      JSON.stringify([hidden, hidden instanceof Map && [...hidden]]) +
      String(hidden instanceof Uint8Array && new TextDecoder().decode(hidden));
    for (const secret of ['hunter2-secret', 'planted-secret', '"token":"id"']) expect(text).not.toContain(secret);
  });
});
