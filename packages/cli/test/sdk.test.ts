import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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
function makeWorkspace(files: Record<string, string> = {}): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-sdk-')));
  cpSync(FIXTURE, root, { recursive: true });
  cpSync(join(REPOSITORY, 'templates/empty/tsconfig.json'), join(root, 'tsconfig.json'));
  mkdirSync(join(root, 'node_modules/@svc'), { recursive: true });
  symlinkSync(join(REPOSITORY, 'packages/runtime'), join(root, 'node_modules/@svc/runtime'));
  symlinkSync(join(REPOSITORY, 'packages/compiler/node_modules/zod'), join(root, 'node_modules/zod'));
  mkdirSync(join(root, 'node_modules/@types'));
  symlinkSync(join(REPOSITORY, 'node_modules/@types/node'), join(root, 'node_modules/@types/node'));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(root, file), text);
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
  it('loads as it is, one workflow in each file', () => {
    expect(running.host.problems()).toEqual([]);
    expect(running.box.problems()).toEqual([]);
    expect(running.box.workflowNames()).toHaveLength(10);
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

const TWO = `
import { sleep } from 'workflow';

const note = async (text: string) => {
  'use step';
  return \`noted \${text}\`;
};

export async function first(text: string) {
  'use workflow';
  await sleep(1);
  return note(text);
}

export async function sendReminderWorkflow(text: string) {
  'use workflow';
  return note(text);
}
`;

const SPLIT = {
  'lib/note.ts': `export const note = async (text: string) => {\n  'use step';\n  return \`noted \${text}\`;\n};\n`,
  'workflows/first.workflow.ts': `import { note } from '../lib/note.js';\nexport async function first(text: string) {\n  'use workflow';\n  return note(text);\n}\n`,
  'workflows/send-reminder.workflow.ts': `import { note } from '../lib/note.js';\nexport async function sendReminderWorkflow(text: string) {\n  'use workflow';\n  return note(text);\n}\n`,
};

describe('a file with many workflows', () => {
  it('says where to move the second one, and the others still run', async () => {
    const root = makeWorkspace({ 'workflows/many.workflow.ts': TWO });
    const host = await openHost({ root, say: () => {} });
    onTestFinished(() => host.close());
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    expect(host.problems()).toMatchObject([
      {
        code: 'workflow_duplicate',
        file: 'workflows/many.workflow.ts',
        message: expect.stringContaining('move "sendReminderWorkflow" to "workflows/send-reminder.workflow.ts"'),
      },
    ]);
    expect(host.program().manifest.workflows.filter(({ problem }) => problem)).toHaveLength(1);
  });

  it('runs once it is split', async () => {
    const before = running;
    running = await openRunning(makeWorkspace(SPLIT));
    onTestFinished(async () => {
      await close(running);
      running = before;
    });
    expect((await run('first', 'a')).output).toBe('noted a');
    expect((await run('send-reminder', 'b')).output).toBe('noted b');
  });
});
