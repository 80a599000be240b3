import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createBox, createLog, openSqliteJournal } from '@svc/runtime/host';
import type { Box, Journal } from '@svc/runtime/host';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { typecheckOwn } from '../../compiler/test/_typecheck.ts';
import { listHooks } from '../../runtime/src/engine/stores/contract/world.ts';
import { createDrizzle } from '../../runtime/src/stores/drizzle.ts';
import { createLazyDatabase } from '../../runtime/src/testing/database.ts';
import { openHost } from '../src/dev/host.ts';
import type { Host } from '../src/dev/host.ts';

const FIXTURE = fileURLToPath(new URL('./fixtures/sdk/', import.meta.url));
const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url));

interface Run {
  status: string;
  output: unknown;
  error: { message: string } | null;
}

interface Running {
  root: string;
  host: Host;
  journal: Journal;
  box: Box;
}

/** Files as a user of the Workflow SDK writes them, through the compiler and the runtime as `svc dev` uses them. */
function makeWorkspace(): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-sdk-')));
  cpSync(FIXTURE, root, { recursive: true });
  const tsconfig = JSON.parse(readFileSync(join(REPOSITORY, 'templates/empty/tsconfig.json'), 'utf8'));
  tsconfig.compilerOptions.paths = { '@/*': ['./lib/*'] };
  writeFileSync(join(root, 'tsconfig.json'), JSON.stringify(tsconfig, null, 2));
  mkdirSync(join(root, 'node_modules/@svc'), { recursive: true });
  symlinkSync(join(REPOSITORY, 'packages/runtime'), join(root, 'node_modules/@svc/runtime'));
  symlinkSync(join(REPOSITORY, 'packages/compiler/node_modules/zod'), join(root, 'node_modules/zod'));
  mkdirSync(join(root, 'node_modules/@types'));
  symlinkSync(join(REPOSITORY, 'node_modules/@types/node'), join(root, 'node_modules/@types/node'));
  return root;
}

async function openRunning(root: string): Promise<Running> {
  const host = await openHost({ root, say: () => {} });
  const journal = await openSqliteJournal({ path: join(root, 'journal.db') });
  const box = await openBox(host, journal);
  return { root, host, journal, box };
}

async function openBox(host: Host, journal: Journal): Promise<Box> {
  const provider = { baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'key' };
  const box = await createBox({
    host: 'dev',
    slug: 'sdk',
    log: createLog({ level: 'silent', write: () => {} }),
    journal,
    exclusive: true,
    db,
    provider: {
      environment: provider as never,
      store: { read: async () => undefined, write: async () => {} } as never,
      egress: { allowPrivate: true } as never,
    },
    defaultModel: () => undefined,
    loadProgram: async () => host.program(),
    probes: {},
    services: () => ({ agent: { url: 'http://127.0.0.1:4242' } }) as never,
  });
  await box.gate.check();
  return box;
}

const database = createLazyDatabase();
const db = createDrizzle(database.client, database.client.ready);
afterAll(() => database.close());

let running: Running;
beforeAll(async () => {
  running = await openRunning(makeWorkspace());
}, 60_000);
afterAll(() => close(running));

async function close({ box, journal, host, root }: Running): Promise<void> {
  await box.close();
  await journal.close();
  await host.close();
  rmSync(root, { recursive: true, force: true });
}

const json = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

async function start(name: string, ...args: unknown[]): Promise<string> {
  const answer = await running.box.request(`/api/workflows/${name}/start`, json({ args }));
  const body = (await answer.json()) as { runId: string };
  expect({ status: answer.status, body }).toMatchObject({ status: 202 });
  return body.runId;
}

async function finish(runId: string): Promise<Run> {
  return (await (await running.box.request(`/api/runs/${runId}?wait=25s`)).json()) as Run;
}

const run = async (name: string, ...args: unknown[]) => finish(await start(name, ...args));

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (const end = Date.now() + 25_000; Date.now() < end; await wait(20)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error('It did not happen in time.');
}

/** The run waits for its hook, which can be resumed. */
const parked = (runId: string, isWanted: (token: string) => boolean = () => true) =>
  until(async () => {
    const hooks = (await listHooks(running.journal, runId)).filter((hook) => hook.isOpen);
    const waits = (await running.journal.getRun(runId))?.status === 'waiting';
    return waits ? hooks.find(({ token }) => isWanted(token))?.token : undefined;
  });

/** Closes the box and opens another on the same journal: what ran is replayed. */
async function restart(): Promise<void> {
  await running.box.close();
  running.box = await openBox(running.host, running.journal);
}

describe('a workflow file of the Workflow SDK', () => {
  it('loads as it is, with one workflow or many in a file', () => {
    expect(running.host.problems()).toEqual([]);
    expect(running.box.problems()).toEqual([]);
    expect(running.box.workflowNames()).toHaveLength(23);
  });

  it('compiles with the generated types', () => {
    expect(typecheckOwn(running.root, { customConditions: ['svc-source'] })).toBe('');
  });

  it('takes positional arguments, and runs steps that are arrows, properties and in other modules', async () => {
    const runId = await start('onboard', 'Ada', { seats: 2 }, null);
    expect(await finish(runId)).toMatchObject({
      status: 'completed',
      output: {
        greeting: 'Welcome, Ada!',
        contact: createHash('sha1').update('Ada').digest('hex').slice(0, 6),
        // A step has a copy: what it does to its arguments is not seen.
        seats: 2,
        tried: { label: 'crm', attempt: 3, stepId: expect.stringMatching(new RegExp(`^${runId}:`)) },
        since: null,
        workflowName: 'onboard',
        sameRun: true,
      },
    });
  });

  it('fetches as a step, and reads the answer in steps and in the body', async () => {
    const seen: string[] = [];
    const server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      seen.push(`${request.method} ${request.url}`);
      if (request.url === '/gone') response.writeHead(410).end('gone');
      else response.setHeader('content-type', 'application/json').end(`{"items":["a","b"],"seen":${body}}`);
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect((await run('feed', `${url}/feed`)).output).toEqual({
      status: 200,
      type: 'application/json',
      first: 'a',
      items: ['a', 'b'],
      seen: { limit: 2 },
    });
    expect((await run('feed', `${url}/gone`)).output).toEqual({ status: 410, text: 'gone' });
    expect(seen).toEqual(['POST /feed', 'POST /gone']);
  });

  it('hands instances of its classes to steps and back, and calls methods as steps', async () => {
    expect((await run('shop', 'Ada')).output).toEqual({
      untouched: 1,
      lines: ['Ada: 5 (true)', 'guest: 0 (true)'],
      basket: true,
      gift: {},
    });
  });

  it('hands streams from step to step, and to a stream of the run', async () => {
    const runId = await start('transcode', ['so', 'what']);
    expect(await finish(runId)).toMatchObject({ status: 'completed', output: { bytes: 6, again: 6 } });
    const chunks = await running.journal.chunks.read(runId, 'loud', { after: 0, limit: 10 });
    expect(chunks).toHaveLength(3);
  });

  it('iterates a hook, awaits another one again and again, and lets go of a token it is done with', async () => {
    const runId = await start('collect', 'one');
    const send = (token: string, body: unknown) =>
      running.box.request(`/api/workflows/hooks/${encodeURIComponent(token)}/resume`, json(body));
    const token = await parked(runId);
    expect((await run('collect', 'one')).output).toEqual({ conflict: runId });
    await send(token, { text: 'a' });
    await restart();
    await send(token, { text: 'b', last: true });
    const next = await parked(runId, (one) => one.startsWith('more:'));
    // The token is free while the run goes on.
    const second = await start('collect', 'one');
    expect(await parked(second)).toBe(token);
    await running.box.request(`/api/runs/${second}/cancel`, { method: 'POST', headers: json({}).headers ?? {} });
    await send(next, { text: 'c' });
    await until(async () => ((await send(next, { text: 'd' })).status === 200 ? true : undefined));
    expect((await finish(runId)).output).toEqual({ seen: ['a', 'b', 'c', 'd'] });
  });

  it('answers each call of a webhook by hand, whatever its method', async () => {
    const runId = await start('callback');
    const token = await parked(runId);
    const call = (init: RequestInit) => running.box.request(`/api/webhooks/${token}`, init);
    const first = await call({ method: 'PUT', body: 'héllo', headers: { 'content-type': 'text/plain' } });
    expect([first.status, await first.json()]).toEqual([201, { count: 5, text: 'héllo', method: 'PUT' }]);
    await restart();
    const second = await call({ method: 'GET' });
    expect(await second.json()).toEqual({ count: 0, text: '', method: 'GET' });
    const last = await call({ method: 'DELETE' });
    expect([last.status, await last.json()]).toMatchObject([504, { code: 'webhook_unanswered' }]);
    expect((await finish(runId)).output).toEqual(['text/plain', null, null]);
  });

  it('reads forms and bytes of a webhook that has one answer for all', async () => {
    const form = new FormData();
    form.set('name', 'Ada');
    form.set('file', new File(['notes'], 'a.txt'));
    for (const [how, body, output] of [
      ['form', form, { name: 'Ada', file: 'a.txt', text: 'notes' }],
      ['bytes', new Uint8Array([255, 0, 254]), { sum: 509 }],
    ] as const) {
      const runId = await start('intake', how);
      const request = new Request('http://box/', { method: 'POST', body });
      const answer = await running.box.request(`/api/webhooks/${await parked(runId)}`, {
        method: 'POST',
        body: await request.arrayBuffer(),
        headers: request.headers,
      });
      expect([answer.status, answer.headers.get('x-box'), await answer.json()]).toEqual([
        203,
        'yes',
        { received: true },
      ]);
      expect((await finish(runId)).output).toEqual(output);
    }
  });

  it('starts, follows and cancels other runs, and resumes hooks from its steps', async () => {
    expect(await run('review', 'review-1')).toMatchObject({
      status: 'completed',
      output: {
        decided: {
          metadata: { who: 'me' },
          refused: expect.stringContaining('ok: '),
          sameHook: true,
          missing: 'HookNotFoundError',
        },
        said: { ok: true, note: 'fine' },
        followed: { result: 5, status: 'completed', name: 'sum', ended: true, run: 5 },
        inBody: 9,
        blamed: '-1 is below zero',
        stopped: ['cancelled', false],
      },
    });
  });

  it('counts retries, and finds errors as they were thrown, with their causes', async () => {
    expect((await run('trouble', 5)).output).toEqual([true, 'attempt 2 of 5', 'Outage', true, 'no route', true, true]);
  });
});

describe('a file with many workflows', () => {
  const text = (path: string) => readFileSync(join(running.root, path), 'utf8');

  it.each([
    ['add-ten', [123], 133],
    ['words', ['so what'], 2],
    ['numbers-scale-twice', [3], 300],
    ['getter-step', [[2, 3]], [5, 5, 20]],
    ['spawn', [5], 15],
    ['99_e2e', [], 'the file itself'],
    ['page', ['Ada'], '<p>Hello, <b>Ada</b>: 3</p>'],
    ['step-function-passing', [], [42, 8]],
    ['closure-variable', [1], ['Result: 3', 'Result: 4', 'Result: |a|Result: 3']],
    ['step-function-with-closure', [5], 13],
    [
      'step-function-as-start-arg',
      [7],
      [
        [14, 30],
        [93, 187],
      ],
    ],
  ])('runs each under a name of its own: %s', async (name, args, output) => {
    expect(await run(name, ...args)).toMatchObject({ status: 'completed', output });
  });

  it('takes the settings of each from its function', async () => {
    const list = (await (await running.box.request('/api/workflows')).json()) as { items: { name: string }[] };
    const entries = new Map(list.items.map((one) => [one.name, one]));
    expect(entries.get('guarded')).toMatchObject({ serial: true, schedules: 1, hasSchema: true });
    expect(entries.get('add-ten')).toMatchObject({ serial: false, schedules: 0, hasSchema: false });
    const refused = await running.box.request('/api/workflows/guarded/start', json({ text: 5 }));
    expect(await refused.json()).toMatchObject({ code: 'workflow_input_invalid' });
    const started = await running.box.request('/api/workflows/guarded/start', json({ text: 'hey' }));
    expect(await finish(((await started.json()) as { runId: string }).runId)).toMatchObject({ output: 'HEY' });
    expect(text('.svc/workflows.d.ts')).toMatch(/"guarded": \{ input: Input<typeof w\d+\.guarded\.inputSchema>/);
  });

  it('replays each after a restart', async () => {
    const runId = await start('getter-step', [1, 2]);
    const other = await start('numbers-scale-twice', 4);
    const closed = await start('closure-variable', 2);
    await restart();
    expect((await finish(closed)).output).toEqual(['Result: 4', 'Result: 5', 'Result: |a|Result: 4']);
    expect((await finish(runId)).output).toEqual([3, 3, 20]);
    expect((await finish(other)).output).toBe(400);
  });

  it('is one workflow less, or more, once it is edited', async () => {
    const path = join(running.root, 'workflows/two.workflow.ts');
    const body = (name: string) => `export async function ${name}() {\n  'use workflow';\n  return '${name}';\n}\n`;
    const names = () => running.box.workflowNames().filter((name) => /^(?:two|left|right)$/.test(name));
    running.host.onChange(async (program) => {
      await running.box.reload(program);
      return { problems: running.box.problems(), left: [] };
    });
    writeFileSync(path, body('left'));
    await until(async () => (names().join() === 'two' ? true : undefined));
    writeFileSync(path, body('left') + body('right'));
    await until(async () => (names().join() === 'left,right' ? true : undefined));
    expect((await run('right')).output).toBe('right');
    rmSync(path);
    await until(async () => (names().join() === '' ? true : undefined));
  });
});
