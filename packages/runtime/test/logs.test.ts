import { randomUUID } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { FatalError, getStepMetadata, RetryableError } from '../src/index.ts';
import { svc } from '../src/svc.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { sleep } from '../src/engine/primitives/sleep.ts';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { createLog } from '../src/log.ts';
import type { RootLog } from '../src/log.ts';
import type { LogEntry } from '../src/logs/entry.ts';
import { createMask } from '../src/mask.ts';
import { storeUnavailable } from '../src/stores/client.ts';
import { openDatabase } from '../src/stores/database.ts';
import { createDrizzle } from '../src/stores/drizzle.ts';
import { openPg } from '../src/stores/pg.ts';
import { createLazyDatabase } from '../src/testing/database.ts';
import { bothServers, createCluster, WITHOUT_LOOKS } from './_cluster.ts';
import { createGate } from './_gate.ts';
import type { Gate } from './_gate.ts';
import { describeWhen } from './require.ts';
import { listenTo } from './_sse.ts';
import { call, finish, json, runWorkflow, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();

const SECRET = 'sk-planted-0123456789';
const charge = toStep('charge', (amount: number) => {
  svc.log.warn('Charging.', { amount, apiKey: 'abc', nested: { url: `https://${SECRET}@example.com` } });
  return amount;
});
const flaky = toStep('flaky', () => {
  throw Object.assign(new Error(`No, with ${SECRET}.`), { fatal: true });
});

const PROGRAM = {
  workflows: {
    refund: {
      async run() {
        svc.log.debug('Looking.');
        await charge(5);
        svc.log.info('Refunded.', { to: 'Ada' });
      },
    },
    quiet: { run: async () => 1 },
    bad: { run: async () => flaky() },
    talk: {
      async run(count: number) {
        for (let n = 0; n < count; n++) svc.log.info(`line ${n}`);
      },
    },
    hook: {
      async run({ token }: { token: string }) {
        svc.log.info('Before.');
        await sleep(1);
        svc.log.info('Between.');
        await createHook({ token });
        svc.log.info('After.');
      },
    },
    steps: {
      async run({ token }: { token: string }) {
        svc.log.info('First.');
        await held(token);
        svc.log.info('Last.');
      },
    },
  },
};

/** What holds the step of a run, by the token in its input. */
const gates = new Map<string, Gate>();
const held = toStep('held', (token: string) => gates.get(token)?.pass());

function holdStep(): { token: string; gate: Gate } {
  const [token, gate] = [randomUUID(), createGate()];
  gates.set(token, gate);
  return { token, gate };
}

function keeping(options: TestBoxOptions['options'] = {}): { options: TestBoxOptions['options']; log: RootLog } {
  const log = createLog({ level: 'silent', write() {}, mask: createMask({ MODEL_PROVIDER_API_KEY: SECRET }) });
  return { log, options: { log, records: log, mask: createMask({ MODEL_PROVIDER_API_KEY: SECRET }), ...options } };
}

async function open(more: TestBoxOptions['options'] = {}): Promise<TestBox> {
  return boxes.open({ ...PROGRAM, options: keeping(more).options });
}

async function list(box: TestBox, path: string): Promise<{ items: LogEntry[]; nextCursor: string | null }> {
  const { status, body } = await call<{ items: LogEntry[]; nextCursor: string | null }>(box, `GET ${path}`);
  expect([status, body]).toEqual([200, body]);
  return body;
}

/** Of a run, oldest first, once its end is among them. */
async function recordsOf(box: TestBox, runId: unknown, query = ''): Promise<LogEntry[]> {
  const path = `/api/runs/${String(runId)}/logs?limit=200`;
  const isOver = (entries: LogEntry[]) => entries.some(({ fields }) => /^run\.(?!started)/.test(String(fields?.event)));
  await until(async () => isOver((await list(box, path)).items));
  return (await list(box, `${path}${query}`)).items.toReversed();
}

const messages = (entries: LogEntry[]) => entries.map(({ message }) => message);

describe('what is kept of a run', () => {
  test('is what its code logs, and that it began and ended', async () => {
    const box = await open();
    const { runId } = await runWorkflow(box, 'refund');
    const records = await recordsOf(box, runId);
    expect(records.map(({ level, message, step }) => [level, message, step])).toEqual([
      ['info', 'The run has started.', null],
      ['debug', 'Looking.', null],
      ['warn', 'Charging.', 'charge'],
      ['info', 'Refunded.', null],
      ['info', 'The run has completed.', null],
    ]);
    expect(records[3]).toEqual({
      id: expect.any(Number),
      at: expect.stringMatching(/Z$/),
      level: 'info',
      message: 'Refunded.',
      runId,
      sessionId: null,
      name: 'refund',
      step: null,
      requestId: null,
      fields: { to: 'Ada' },
    });
  });

  test('is narrowed by level, step, text and time', async () => {
    const box = await open();
    const { runId } = await runWorkflow(box, 'refund');
    const all = await recordsOf(box, runId);
    expect(messages(await recordsOf(box, runId, '&level=warn'))).toEqual(['Charging.']);
    expect(messages(await recordsOf(box, runId, '&step=charge'))).toEqual(['Charging.']);
    expect(messages(await recordsOf(box, runId, '&text=ADA'))).toEqual(['Refunded.']);
    expect(messages(await recordsOf(box, runId, '&to=2020-01-01T00:00:00Z'))).toEqual([]);
    expect(messages(await recordsOf(box, runId, `&from=${all[0]?.at}`))).toHaveLength(5);
  });

  test('says why steps and the run failed, without a secret', async () => {
    const box = await open();
    const { runId } = await runWorkflow(box, 'bad');
    const records = await recordsOf(box, runId);
    expect(records.map(({ level, message, step }) => [level, message, step])).toEqual([
      ['info', 'The run has started.', null],
      ['warn', 'The step failed.', 'flaky'],
      ['error', 'The run has failed.', null],
    ]);
    expect(records[2]?.fields?.error).toMatchObject({ code: 'run_failed', message: 'No, with [hidden].' });
    const { runId: other } = await runWorkflow(box, 'refund');
    const [charging] = await recordsOf(box, other, '&level=warn');
    expect(charging?.fields).toEqual({
      amount: 5,
      apiKey: '[hidden]',
      nested: { url: 'https://[hidden]@example.com' },
    });
    expect(JSON.stringify([...records, charging])).not.toContain(SECRET);
  });

  test('names the agent, the session and the tool of a turn', async () => {
    const add = defineTool({
      description: 'Add.',
      inputSchema: z.object({}),
      execute: () => (svc.log.info('Adding.'), { sum: 3 }),
    });
    const box = await boxes.open({
      agents: { adder: defineDeepAgent({ name: 'adder', tools: { add } }) },
      options: keeping().options,
    });
    const body = { model: 'adder', messages: [{ role: 'user', content: 'tool:add {}; say:Done.' }] };
    const headers = { 'x-api-key': 'any', 'x-svc-session': randomUUID() };
    await (await box.request('/wire-a/v1/chat/completions', json(body, { headers }))).text();
    await until(async () => (await list(box, '/api/logs?name=adder&text=Adding')).items.length === 1);
    const [entry] = (await list(box, '/api/logs?name=adder&text=Adding')).items;
    expect(entry).toMatchObject({ step: 'add', name: 'adder', sessionId: expect.any(String) });
    const ofSession = await list(box, `/api/logs?session=${entry?.sessionId}`);
    expect(messages(ofSession.items)).toContain('The run has started.');
  });

  test('goes with the run', async () => {
    const box = await open();
    const { runId } = await runWorkflow(box, 'refund');
    await recordsOf(box, runId);
    await call(box, `DELETE /api/runs/${String(runId)}`);
    expect((await list(box, `/api/logs?run=${String(runId)}`)).items).toEqual([]);
    expect((await call(box, `GET /api/runs/${String(runId)}/logs`)).status).toBe(404);
  });

  test('is kept of the box itself, with the request it answered', async () => {
    const { options, log } = keeping();
    const box = await boxes.open({ ...PROGRAM, options });
    const word = randomUUID();
    log.error('The box said something.', { word, requestId: 'r-7', name: 'not a run' });
    await until(async () => (await list(box, `/api/logs?text=${word}`)).items.length === 1);
    const [entry] = (await list(box, `/api/logs?text=${word}&level=error`)).items;
    expect(entry).toMatchObject({ runId: null, name: null, requestId: 'r-7', fields: { word, name: 'not a run' } });
  });
});

describe('a body', () => {
  test('says each line once, however often it is replayed', async () => {
    const box = await open({ engine: { limits: { parkAfter: 0 } as never } });
    const token = randomUUID();
    const runId = await startWorkflow(box, 'hook', { token });
    await untilStatus(box, runId, 'waiting');
    await until(async () => (await list(box, `/api/logs?run=${runId}&text=Between`)).items.length === 1);
    const next = await box.restart();
    await call(next, `POST /api/workflows/hooks/${token}/resume`, {});
    await finish(next, runId);
    expect(messages(await recordsOf(next, runId))).toEqual([
      'The run has started.',
      'Before.',
      'Between.',
      'After.',
      'The run has completed.',
    ]);
  });

  test('says what comes before its first step once, also when that is repeated elsewhere', async () => {
    const box = await open();
    const { token, gate } = holdStep();
    const runId = await startWorkflow(box, 'steps', { token });
    await until(() => gate.came === 1);
    await until(async () => (await list(box, `/api/logs?run=${runId}&text=First`)).items.length === 1);
    const next = await box.restart();
    gate.open();
    await finish(next, runId);
    expect(messages(await recordsOf(next, runId)).filter((message) => !message.startsWith('The run'))).toEqual([
      'First.',
      'Last.',
    ]);
  });
});

test('pages are stable while new records arrive', async () => {
  const box = await open();
  const { runId } = await runWorkflow(box, 'talk', 45 as never);
  await recordsOf(box, runId);
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const from: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const page = await list(box, `/api/logs?run=${String(runId)}&limit=10&text=line${from}`);
    seen.push(...messages(page.items));
    cursor = page.nextCursor;
    await runWorkflow(box, 'quiet');
  }
  expect(seen).toEqual(Array.from({ length: 45 }, (_, n) => `line ${44 - n}`));
  expect((await call(box, 'GET /api/logs?cursor=nonsense')).body).toMatchObject({ code: 'invalid_cursor' });
});

test('records go when they are old enough, as the operator wants before what the settings say', async () => {
  const days = { wanted: undefined as number | undefined };
  const box = await open({
    retention: () => ({ logDays: 30 }),
    logRetentionDays: () => days.wanted,
    retentionEveryMs: 20,
    engine: { sweepMs: 50 },
  });
  const { runId } = await runWorkflow(box, 'quiet');
  expect(await recordsOf(box, runId)).toHaveLength(2);
  days.wanted = 1 / 86_400_000;
  await until(async () => (await list(box, `/api/logs?run=${String(runId)}`)).items.length === 0);
});

describe('without the database', () => {
  test('runs go on, and what they logged is stored once it is back', async () => {
    const database = createLazyDatabase();
    onTestFinished(() => database.close());
    let isDown = false;
    const query: typeof database.client.query = async (text, ...rest) => {
      if (isDown && text.includes('insert into "svc"."logs"')) throw storeUnavailable('Gone.');
      return database.client.query(text, ...rest);
    };
    const db = createDrizzle({ ...database.client, query }, Promise.resolve());
    const warnings: string[] = [];
    const log = createLog({
      level: 'warn',
      write: (line) => warnings.push((JSON.parse(line) as { message: string }).message),
    });
    const box = await open({ db, log, records: log, logQueue: { retryMs: 20 } });
    await list(box, '/api/logs');
    isDown = true;
    const runs = await Promise.all([1, 2, 3].map(() => runWorkflow(box, 'refund')));
    expect(runs.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
    await until(() => warnings.some((message) => message.startsWith('Log records cannot be stored')));
    isDown = false;
    for (const { runId } of runs) expect(await recordsOf(box, runId)).toHaveLength(5);
    expect(warnings.filter((message) => message.startsWith('Log records cannot'))).toHaveLength(1);
  });
});

describe('what is written beside', () => {
  const openAt = async (level: 'debug' | 'info') => {
    const lines: Record<string, unknown>[] = [];
    const log = createLog({ level, write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
    const fails = toStep('flaky', () => {
      if (getStepMetadata().attempt === 1) throw new RetryableError('Not yet.', { retryAfter: 1 });
      throw new FatalError('Not at all.');
    });
    const workflows = { flaky: { run: async () => fails() } };
    const box = await boxes.open({ workflows, options: { log, records: log } });
    return { box, lines, eventsOf: (id: string) => lines.filter(({ runId }) => runId === id) };
  };

  test('is each start, retry and end of a run, and each request, at debug, and kept once', async () => {
    const { box, lines, eventsOf } = await openAt('debug');
    const runId = await startWorkflow(box, 'flaky');
    const kept = await recordsOf(box, runId);
    const events = eventsOf(runId).flatMap(({ level, event }) => (level === 'debug' ? [event] : []));
    expect(events).toEqual(['run.started', 'step.retrying', 'step.failed', 'run.failed']);
    expect(eventsOf(runId).filter(({ level }) => level === 'error')).toHaveLength(1);
    expect(kept.map(({ fields }) => fields?.event)).toEqual(events);
    const [request] = lines.filter(({ event, method }) => event === 'request.answered' && method === 'POST');
    expect(request).toMatchObject({
      level: 'debug',
      message: 'POST /api/workflows/:name/start was answered with 202.',
      requestId: expect.stringMatching(/^req_/),
      status: 202,
      durationMs: expect.any(Number),
    });
    expect(
      (await list(box, '/api/logs?limit=200')).items.filter(({ message }) => message.includes('answered')),
    ).toEqual([]);
  });

  test('is a run that fails alone, at info', async () => {
    const { box, lines, eventsOf } = await openAt('info');
    const runId = await startWorkflow(box, 'flaky');
    await recordsOf(box, runId);
    expect(eventsOf(runId)).toMatchObject([{ level: 'error', event: 'run.failed' }]);
    expect(lines.filter(({ level }) => level === 'debug')).toEqual([]);
  });
});

describe('the tail', () => {
  test('of a run tells its records from the first one, and ends with it', async () => {
    const box = await open();
    const url = await box.listen();
    const { token, gate } = holdStep();
    const runId = await startWorkflow(box, 'steps', { token });
    const stream = await listenTo(`${url}/api/runs/${runId}/logs/stream`);
    await until(() => stream.says().includes('First.'));
    expect(stream.isOver()).toBe(false);
    gate.open();
    await until(() => stream.isOver());
    expect(stream.says()).toEqual(['The run has started.', 'First.', 'Last.', 'The run has completed.']);
    expect(stream.text()).toMatch(/event: end\ndata: \{\}\n\n$/);
    const ids = stream.events().flatMap(({ id }) => (id === undefined ? [] : [Number(id)]));
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    const again = await listenTo(`${url}/api/runs/${runId}/logs/stream?level=error`);
    await until(() => again.isOver());
    expect(again.says()).toEqual([]);
    expect(again.text()).toContain('event: end');
    expect((await fetch(`${url}/api/runs/${randomUUID()}/logs/stream`)).status).toBe(404);
  });

  test('reports what matches from now on, and goes on after the last one a client has', async () => {
    const box = await open();
    const url = await box.listen();
    const { runId: old } = await runWorkflow(box, 'refund');
    await recordsOf(box, old);
    const stream = await listenTo(`${url}/api/logs/tail?name=refund&level=info`);
    await until(() => /^id: \d+$/m.test(stream.text()));
    await runWorkflow(box, 'quiet');
    const { runId } = await runWorkflow(box, 'refund');
    await until(() => stream.says().includes('The run has completed.'));
    expect(stream.says()).toEqual(['The run has started.', 'Charging.', 'Refunded.', 'The run has completed.']);
    expect(stream.events().every(({ data }) => data.runId === runId)).toBe(true);
    stream.close();
    const last = stream.events()[1]?.id ?? '';
    const rest = await listenTo(`${url}/api/logs/tail?name=refund&level=info`, { headers: { 'last-event-id': last } });
    await until(() => rest.says().length === 2);
    expect(rest.says()).toEqual(['Refunded.', 'The run has completed.']);
    const tooFar = await listenTo(`${url}/api/logs/tail?lastEventId=999999999999`);
    await until(() => tooFar.text().includes('event: reset'));
  });

  test('begins with a reset where what followed is not kept any more', async () => {
    const days = { wanted: undefined as number | undefined };
    const box = await open({ logRetentionDays: () => days.wanted, retentionEveryMs: 20, engine: { sweepMs: 50 } });
    const { runId } = await runWorkflow(box, 'quiet');
    const [first] = await recordsOf(box, runId);
    days.wanted = 1 / 86_400_000;
    await until(async () => (await list(box, `/api/logs?run=${String(runId)}`)).items.length === 0);
    const stream = await listenTo(`${await box.listen()}/api/logs/tail?lastEventId=${first?.id}`);
    await until(() => stream.text().includes('event: reset'));
  });

  test('ends when the box closes', async () => {
    const box = await open();
    const url = await box.listen();
    const stream = await listenTo(`${url}/api/logs/tail`);
    await until(() => /^id: \d+$/m.test(stream.text()));
    await box.shut();
    await until(() => stream.isOver());
    expect(stream.text()).toMatch(/retry: 1000\n\n$/);
  });
});

describeWhen(bothServers, 'two replicas over Redis', (servers) => {
  test('tell each other what is stored, once and in order', async () => {
    const home = await createDatabase(servers.database);
    const database = openDatabase(openPg(home.url));
    onTestFinished(async () => {
      await database.close();
      await home.drop();
    });
    await database.ready;
    const name = `w${randomUUID().replaceAll('-', '')}`;
    const openReplica = createCluster(boxes, servers);
    const workflows = { [name]: PROGRAM.workflows.talk };
    // Found by being told: the tail itself looks every two seconds.
    const start = () =>
      openReplica({ workflows, engine: WITHOUT_LOOKS, options: { ...keeping().options, db: database.db } });
    const [a, b] = [await start(), await start()];
    const stream = await listenTo(`${await b.listen()}/api/logs/tail?name=${name}`);
    await until(() => /^id: \d+$/m.test(stream.text()));
    const runs = await Promise.all([a, b, a, b].map((box) => runWorkflow(box, name, 40 as never)));
    await until(() => stream.says().filter((message) => message === 'The run has completed.').length === 4);
    for (const { runId } of runs) {
      const said = stream.events().filter(({ data }) => data.runId === runId);
      const lines = Array.from({ length: 40 }, (_, n) => `line ${n}`);
      expect(said.map(({ data }) => data.message)).toEqual([
        'The run has started.',
        ...lines,
        'The run has completed.',
      ]);
    }
    const ids = stream.events().map(({ id }) => Number(id));
    expect(ids).toEqual([...new Set(ids)].toSorted((x, y) => x - y));
  });
});
