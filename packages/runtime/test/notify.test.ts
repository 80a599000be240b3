import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test, vi } from 'vitest';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';
import { defineConfig } from '../src/workspace-config.ts';
import { parseMetrics } from './_otlp.ts';
import { call, giveNewest, runWorkflow, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();
const SECRET = Buffer.alloc(32, 7).toString('base64');
vi.stubEnv('NOTIFY_SECRET', SECRET);

interface Got {
  headers: IncomingHttpHeaders;
  text: string;
  body: { type: string; timestamp: string; data: Record<string, unknown> };
}

/** A receiver that answers what it is told to, in turn, the last again and again; 0: never. */
async function receive(...answers: number[]) {
  const got: Got[] = [];
  const held: ServerResponse[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += String(part);
    const status = answers.length > 1 ? answers.shift() : answers[0];
    got.push({ headers: request.headers, text, body: JSON.parse(text) as Got['body'] });
    if (status === 0) return void held.push(response);
    response.writeHead(status ?? 204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const ids = () => got.map(({ headers }) => headers['webhook-id']);
  return { got, ids, url: `http://127.0.0.1:${port}/svc`, answer: (status: number) => answers.splice(0, 9, status) };
}

const fails = async () => {
  throw Object.assign(new Error('The card was declined.'), { code: 'card_declined' });
};
/** Waits behind a step of this name. */
const waitAfter = (name: string) => {
  const step = toStep(name, () => 1);
  return async () => {
    await step();
    return createHook({ token: 'go' });
  };
};
const PROGRAM = {
  workflows: {
    pay: { run: fails },
    other: { run: fails },
    fine: { run: async () => 1 },
    ask: { run: async () => requestApproval({ title: 'Refund 50?' }) },
    parent: { run: async () => 1 },
  },
};
const FAST = { delays: [5, 5, 5, 5], pauseMs: 20, longestPauseMs: 50, timeoutMs: 20_000 };

type Receivers = NonNullable<Parameters<typeof defineConfig>[0]['notify']>;
function open(notify: Receivers, more: TestBoxOptions = {}, limits: object = FAST): Promise<TestBox> {
  const config = defineConfig({ notify });
  const options = { notify: () => config.notify, notifyLimits: limits, engine: { sweepMs: 20 } };
  return boxes.open({ ...PROGRAM, ...more, options });
}
const to = (url: string, more: Partial<Receivers[0]> = {}) => ({ url, secret: 'NOTIFY_SECRET', ...more });
const deliveriesOf = async (box: TestBox, query = '') =>
  (await call<{ items: Record<string, unknown>[] }>(box, `GET /api/notify/deliveries${query}`)).body.items;
const receiverOf = async (box: TestBox) =>
  (await call<{ items: Record<string, unknown>[] }>(box, 'GET /api/notify/receivers')).body.items[0];

test('a failed run is reported once, signed as the Standard Webhooks specification says', async () => {
  const ops = await receive();
  const box = await open([to(ops.url, { name: 'ops' })]);
  await runWorkflow(box, 'fine');
  const { runId } = await runWorkflow(box, 'pay');
  await until(async () => (await deliveriesOf(box, '?state=delivered')).length === 1);
  expect(ops.got).toHaveLength(1);
  const [{ headers, text, body }] = ops.got as [Got];
  expect(new Webhook(SECRET).verify(text, headers as Record<string, string>)).toEqual(body);
  expect(() => new Webhook(SECRET).verify(`${text} `, headers as Record<string, string>)).toThrow('signature');
  expect(headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': expect.stringMatching(/^svc\//) });
  expect(body).toMatchObject({
    type: 'run.failed',
    timestamp: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    data: {
      runId,
      name: 'pay',
      status: 'failed',
      error: { code: 'card_declined', message: 'The card was declined.' },
      url: `http://127.0.0.1:4242/api/runs/${String(runId)}`,
    },
  });
  expect(await deliveriesOf(box)).toMatchObject([
    { deliveryId: headers['webhook-id'], receiver: 'ops', type: 'run.failed', runId, attempts: 1, lastError: null },
  ]);
});

test('a poisoned run is reported as such, and not to receivers of failed runs alone', async () => {
  const [all, failed, poisoned] = await Promise.all([receive(), receive(), receive()]);
  const killed = async () => {
    throw Object.assign(new Error('The process died 5 times in this run.'), { code: 'run_poisoned' });
  };
  const box = await open(
    [
      to(all.url, { name: 'all' }),
      to(failed.url, { name: 'failed', events: ['run.failed'] }),
      to(poisoned.url, { name: 'poisoned', events: ['run.poisoned'] }),
    ],
    { workflows: { ...PROGRAM.workflows, killed: { run: killed } } },
  );
  const { runId } = await runWorkflow(box, 'killed');
  const { runId: other } = await runWorkflow(box, 'pay');
  await until(() => all.got.length === 2 && failed.got.length === 1 && poisoned.got.length === 1);
  const told = ({ got }: typeof all) => got.map(({ body }) => [body.type, body.data.runId]).sort();
  expect(told(all)).toEqual([
    ['run.failed', other],
    ['run.poisoned', runId],
  ]);
  expect([told(failed), told(poisoned)]).toEqual([[['run.failed', other]], [['run.poisoned', runId]]]);
  expect((poisoned.got[0] as Got).body.data).toMatchObject({ status: 'failed', error: { code: 'run_poisoned' } });
});

test('a run blocked by other code is reported, with what blocks it', async () => {
  const [ops, failed] = await Promise.all([receive(), receive()]);
  const before = await open([to(ops.url, { name: 'ops' }), to(failed.url, { name: 'no', events: ['run.failed'] })], {
    workflows: { patient: { run: waitAfter('one') } },
  });
  const runId = await startWorkflow(before, 'patient');
  await untilStatus(before, runId, 'waiting');
  const box = await before.restart({ workflows: { patient: { run: waitAfter('other') } }, hash: 'edited' });
  await call(box, 'POST /api/workflows/hooks/go/resume', null);
  await giveNewest(box, runId);
  await until(() => ops.got.length === 2);
  expect((ops.got[0] as Got).body.type).toBe('run.waiting_for_code');
  expect((ops.got[1] as Got).body).toMatchObject({
    type: 'run.blocked',
    data: {
      runId,
      name: 'patient',
      status: 'blocked',
      error: { code: 'code_changed', message: expect.stringContaining('Call 0 of this run was recorded as') as string },
    },
  });
  expect(failed.got).toEqual([]);
});

test('a run whose code is nowhere is reported once, however often it is tried and boxes come up', async () => {
  const ops = await receive();
  const before = await open([to(ops.url)], { workflows: { patient: { run: waitAfter('one') } } });
  const runId = await startWorkflow(before, 'patient');
  await untilStatus(before, runId, 'waiting');
  const renamed = { workflows: { other: { run: waitAfter('one') } }, hash: 'edited' };
  let box = await before.restart(renamed);
  const tryAgain = async () => {
    const epoch = async () => (await box.journal.getRun(runId))?.epoch ?? 0;
    const was = await epoch();
    await call(box, 'POST /api/workflows/hooks/go/resume', null);
    await box.journal.code.wake([String((await box.journal.getRun(runId))?.codeHash)]);
    await until(async () => (await epoch()) > was && (await box.journal.getRun(runId))?.owner === null);
  };
  await tryAgain();
  await until(() => ops.got.length === 1);
  await tryAgain();
  box = await box.restart(renamed);
  await tryAgain();
  // Whatever comes behind it has come by now.
  await runWorkflow(await box.restart({ ...PROGRAM, hash: 'third' }), 'pay');
  await until(() => ops.got.length === 2);
  expect(ops.got.map(({ body }) => body.type)).toEqual(['run.waiting_for_code', 'run.failed']);
  expect((ops.got[0] as Got).body.data).toMatchObject({
    runId,
    name: 'patient',
    status: 'waiting',
    error: { code: 'code_not_kept', message: expect.stringContaining('is in no build that is up') as string },
    endedAt: null,
  });
});

test('a pending approval is reported, with what finds it', async () => {
  const ops = await receive();
  const box = await open([to(ops.url)]);
  const runId = await startWorkflow(box, 'ask');
  await until(() => ops.got.length === 1);
  const { data, type } = (ops.got[0] as Got).body;
  expect([type, data]).toMatchObject([
    'approval.asked',
    { runId, name: 'ask', title: 'Refund 50?', status: 'pending' },
  ]);
  const { status } = await call(box, `POST /api/approvals/${String(data.approvalId)}/decide`, { decision: 'approve' });
  expect(status).toBe(200);
});

test('each receiver gets the events and workflows it wants', async () => {
  const [failures, approvals, others] = [await receive(), await receive(), await receive()];
  const box = await open([
    to(failures.url, { name: 'failures', events: ['run.failed'] }),
    to(approvals.url, { name: 'approvals', events: ['approval.asked'] }),
    to(others.url, { name: 'others', workflows: ['other'] }),
  ]);
  await runWorkflow(box, 'pay');
  await runWorkflow(box, 'other');
  await startWorkflow(box, 'ask');
  await until(async () => (await deliveriesOf(box, '?state=delivered')).length === 4);
  const received = (receiver: { got: Got[] }) =>
    receiver.got.map(({ body }) => `${body.type} ${String(body.data.name)}`);
  expect([received(failures).toSorted(), received(approvals), received(others)]).toEqual([
    ['run.failed other', 'run.failed pay'],
    ['approval.asked ask'],
    ['run.failed other'],
  ]);
});

test('a receiver that refuses is tried again under the same id, and a slow one holds up no other', async () => {
  const [flaky, silent] = [await receive(500, 503, 204), await receive(0)];
  const box = await open(
    [to(flaky.url, { name: 'flaky' }), to(silent.url, { name: 'silent' })],
    {},
    { ...FAST, timeoutMs: 2_000 },
  );
  const { runId } = await runWorkflow(box, 'pay');
  await until(() => flaky.got.length === 3);
  expect(new Set(flaky.ids()).size).toBe(1);
  await until(async () => (await deliveriesOf(box, '?state=delivered')).length === 1);
  expect(await deliveriesOf(box, '?receiver=flaky')).toMatchObject([{ attempts: 3, lastError: null, runId }]);
  await until(async () => (await deliveriesOf(box, '?receiver=silent&state=failed')).length === 1, 40_000);
  expect(await deliveriesOf(box, '?receiver=silent')).toMatchObject([
    { attempts: 5, lastError: 'It did not answer within 2000 ms.' },
  ]);
});

test('what ended before a crash is reported after it, by the box that comes next', async () => {
  const ops = await receive();
  const box = await open([to(ops.url, { name: 'ops' })], {}, { ...FAST, atOnce: 0 });
  const { runId } = await runWorkflow(box, 'pay');
  await box.shut();
  expect(ops.got).toEqual([]);
  const next = await open([to(ops.url, { name: 'ops' })], { journalPath: box.journalPath });
  await until(async () => (await deliveriesOf(next, '?state=delivered')).length === 1);
  expect(ops.got.map(({ body }) => body.data.runId)).toEqual([runId]);
});

test('two replicas send one message', async () => {
  const ops = await receive();
  const box = await open([to(ops.url, { name: 'ops' })]);
  const journal = await openSqliteJournal({ path: box.journalPath });
  const other = await open([to(ops.url, { name: 'ops' })], { journal });
  for (let n = 0; n < 20; n++) await runWorkflow(n % 2 ? box : other, 'pay');
  await until(async () => (await deliveriesOf(box, '?state=delivered')).length === 20);
  expect([ops.got.length, new Set(ops.ids()).size]).toEqual([20, 20]);
});

test('a dead receiver is paused where everybody sees it, and gets all of it once it lives', async () => {
  const ops = await receive(500);
  const delays = Array.from({ length: 100 }, () => 5);
  const box = await open([to(ops.url, { name: 'ops' })], {}, { ...FAST, delays });
  for (let n = 0; n < 6; n++) await runWorkflow(box, 'pay');
  await until(async () => ((await receiverOf(box))?.failures as number) >= 5);
  expect(await receiverOf(box)).toMatchObject({ name: 'ops', url: ops.url, pending: 6, lastError: 'It answered 500.' });
  await until(() => box.logs.some(({ message }) => String(message).startsWith('"ops" of notify takes no messages')));
  const metrics = parseMetrics(await (await box.request('/metrics')).text());
  expect(metrics.get('svc_notify_pending{svc_notify_receiver="ops"}')).toBe(6);
  ops.answer(204);
  await until(async () => (await deliveriesOf(box, '?state=delivered')).length === 6);
  expect(await receiverOf(box)).toMatchObject({ failures: 0, pending: 0, pausedUntil: null });
});

test('what has failed for good is listed, and sent once more on demand', async () => {
  const ops = await receive(500, 500, 204);
  const box = await open([to(ops.url, { name: 'ops' })], {}, { ...FAST, delays: [5] });
  await runWorkflow(box, 'pay');
  await until(async () => (await deliveriesOf(box, '?state=failed')).length === 1);
  const [failed] = await deliveriesOf(box);
  expect(failed).toMatchObject({ attempts: 2, lastError: 'It answered 500.', nextAt: null });
  const { status, body } = await call(box, `POST /api/notify/deliveries/${String(failed?.deliveryId)}/redeliver`);
  expect([status, body.state]).toEqual([200, 'pending']);
  await until(async () => (await deliveriesOf(box, '?state=delivered')).length === 1);
  expect(new Set(ops.ids()).size).toBe(1);
  expect(await call(box, 'POST /api/notify/deliveries/none/redeliver')).toMatchObject({
    status: 404,
    body: { code: 'delivery_not_found' },
  });
});

test('a secret that is missing or is no key is said, and nothing is sent unsigned', async () => {
  vi.stubEnv('SHORT_SECRET', 'abcd');
  const ops = await receive();
  const box = await open([
    to(ops.url, { name: 'a', secret: 'NO_SUCH_SECRET' }),
    to(ops.url, { name: 'b', secret: 'SHORT_SECRET' }),
  ]);
  await runWorkflow(box, 'pay');
  const errorOf = async (name: string) => (await deliveriesOf(box, `?receiver=${name}`))[0]?.lastError;
  await until(async () => Boolean((await errorOf('a')) && (await errorOf('b'))));
  expect(await errorOf('a')).toContain('There is no secret "NO_SUCH_SECRET".');
  expect(await errorOf('b')).toContain('The secret "SHORT_SECRET" is not 24 to 64 bytes in base64.');
  expect(ops.got).toEqual([]);
});

test('while a secret is replaced both keys sign', async () => {
  const next = Buffer.alloc(32, 8).toString('base64');
  vi.stubEnv('NEXT_SECRET', `whsec_${next}`);
  const ops = await receive();
  const box = await open([to(ops.url, { secret: ['NEXT_SECRET', 'NOTIFY_SECRET'] })]);
  await runWorkflow(box, 'pay');
  await until(() => ops.got.length === 1);
  const [{ headers, text }] = ops.got as [Got];
  for (const key of [SECRET, next])
    expect(new Webhook(key).verify(text, headers as Record<string, string>)).toMatchObject({ type: 'run.failed' });
});

test.each([
  [{ notify: {} }, '"notify" of svc.config.ts is no list'],
  [{ notify: [{ secret: 'S' }] }, '"notify[0]" has the url "undefined"'],
  [{ notify: [{ url: 'ftp://a/', secret: 'S' }] }, '"notify[0]" has the url "ftp://a/"'],
  [{ notify: [{ url: 'https://u:p@a/', secret: 'S' }] }, '"notify[0]" has a user in its url'],
  [{ notify: [{ url: 'https://a/' }] }, '"notify[0]" has no "secret"'],
  [{ notify: [{ url: 'https://a/', secret: 'S', events: ['run.ended'] }] }, '"notify[0]" has the event "run.ended"'],
  [{ notify: [{ url: 'https://a/', secret: 'S', event: [] }] }, '"event" is no member of "notify[0]"'],
  [
    {
      notify: [
        { url: 'https://a/1', secret: 'S' },
        { url: 'https://a/2', secret: 'S' },
      ],
    },
    '"notify" has two receivers called "a"',
  ],
])('svc.config.ts refuses %j', (config, sentence) => {
  expect(() => defineConfig(config as object)).toThrow(sentence);
});
