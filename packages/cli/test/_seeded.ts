import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { z } from '../../../playground/node_modules/zod/index.js';
import { requestApproval } from '../../runtime/src/engine/primitives/approval.ts';
import { defineDynamicConfig, svc } from '../../runtime/src/index.ts';
import { defineDeepAgent } from '../../runtime/src/definitions/definition.ts';
import { createLog } from '../../runtime/src/log.ts';
import { WORKSPACE_PATH } from '../src/dev/workspace-path.ts';
import { newMasterKey } from '../../runtime/src/secrets/master-key.ts';
import { createLazyStorage } from '../../runtime/src/testing/storage.ts';
import { call, json, runWorkflow, startWorkflow, toStep, until, untilStatus } from '../../runtime/test/_setup.ts';
import type { TestBox, TestBoxes } from '../../runtime/test/_setup.ts';

/** What the commands of a transcript name. */
export interface Seeds {
  url: string;
  completed: string;
  failed: string;
  waiting: string;
  approval: string;
  otherApproval: string;
  prompt: string;
  session: string;
  key: string;
}

/**
 * A box with one of everything, behind a server that shows ids and times as if they were the same each time: ids are
 * counted in the order in which they appear, and whatever happened was 90 seconds ago.
 */
export async function openSeededBox(boxes: TestBoxes): Promise<Seeds> {
  const { url, ...seeded } = await openFullBox(boxes);
  const names = createNames();
  return { ...names.show(seeded), url: await serveAs(url, names) };
}

/** A box with one of everything, as it is. */
export async function openFullBox(boxes: TestBoxes): Promise<Seeds> {
  const log = createLog({ level: 'warn', write: () => {} });
  const objects = createLazyStorage();
  await objects.storage.put('notes.txt', 'Be brief.');
  await objects.storage.put('reports/monday.csv', 'day,ok\n');
  const box = await boxes.open({
    ...PROGRAM,
    closes: () => objects.close(),
    options: {
      log,
      records: log,
      secretKey: newMasterKey(),
      storage: objects.storage,
      retentionEveryMs: 0x7fff_ffff,
      // Whether a run that waits is still in memory is told, and would be a matter of speed.
      engine: { limits: { parkAfter: 0 } },
    },
  });
  return { ...(await seed(box)), url: await box.listen() };
}

/** Of the box at that address, a suite "smoke" of one case, run twice; answers the id of the second run. */
export async function seedEvals(url: string): Promise<string> {
  const send = async (path: string, body?: object): Promise<{ id: string; status: string }> => {
    const init = body ? json(body) : {};
    return (await fetch(`${url}/api/evals/${path}`, init)).json() as Promise<{ id: string; status: string }>;
  };
  const target = { kind: 'workflow', name: 'greet' };
  const one = { name: 'greets Ada', target, input: { name: 'Ada' }, expected: { text: 'Hello Ada' } };
  const { id: made } = await send('cases', one);
  await send('suites', { name: 'smoke', cases: [made] });
  let last = '';
  for (let n = 0; n < 2; n++) {
    last = (await send('suites/smoke/run', {})).id;
    await until(async () => (await send(`runs/${last}?wait=5`)).status === 'completed');
  }
  return last;
}

// --- internal ---

const PROGRAM = {
  agents: {
    support: defineDeepAgent({ name: 'support', description: 'Answers customers.', instructions: 'Be brief.' }),
  },
  config: defineDynamicConfig({
    greeting: z.string().default('Hello').describe('What a customer is greeted with'),
    limit: z.number().default(5).describe('Refunds a day'),
  }),
  workflows: {
    greet: {
      run: async ({ name }: { name: string }) => {
        svc.log.info('Greeting.', { name });
        return { text: await toStep('write', async (who: string) => `Hello ${who}`)(name) };
      },
    },
    refund: {
      run: async () => {
        svc.log.warn('No money is left.');
        return toStep('pay', async () => {
          throw Object.assign(new Error('The account is empty.'), { fatal: true });
        })();
      },
    },
    ask: { run: async () => requestApproval({ title: 'Ship the order?', payload: { order: 'A-1' } }) },
    report: { run: async () => 'sent', schedules: [{ cron: '0 9 29 2 *', timeZone: 'UTC', input: { to: 'ops' } }] },
  },
};

async function seed(box: TestBox): Promise<Omit<Seeds, 'url'>> {
  const completed = String((await runWorkflow(box, 'greet', { name: 'Ada' })).runId);
  const failed = String((await runWorkflow(box, 'refund')).runId);
  // One after the other, so that what they ask is listed in one order.
  const waiting = await startWorkflow(box, 'ask');
  await untilParked(box, waiting);
  const other = await startWorkflow(box, 'ask');
  await untilParked(box, other);
  const asked = async (run: string) =>
    (await call<{ items: { approvalId: string }[] }>(box, `GET /api/approvals?run=${run}`)).body.items[0]?.approvalId ??
    '';
  await box.request(
    '/wire-a/v1/chat/completions',
    json(
      { model: 'support', messages: [{ role: 'user', content: 'say:hello' }] },
      { headers: { authorization: 'Bearer dev', 'x-svc-session': 's1' } },
    ),
  );
  const { body: prompt } = await call<{ id: string }>(box, 'POST /api/prompts', {
    ownerKind: 'agent',
    ownerName: 'support',
    key: 'instructions',
    name: 'How to answer',
    text: 'Be brief.\nBe kind.',
  });
  await call(box, 'PUT /api/secrets/SMTP_PASSWORD', { value: 'a planted value' });
  const { body: key } = await call<{ id: string }>(box, 'POST /api/keys', { name: 'ci', grants: { workflows: 'all' } });
  await call(box, 'PUT /api/config/greeting', { value: 'Good day' });
  await call(box, 'POST /api/rag/collections', { name: 'handbook', model: 'test/words' });
  const leave = { id: 'leave.md', text: '# Leave\n\nBook holidays two weeks ahead.' };
  await call(box, 'POST /api/rag/collections/handbook/documents', leave);
  await until(
    async () => (await call(box, 'GET /api/rag/collections/handbook/documents/leave.md')).body['state'] === 'ready',
  );
  const sessions = await call<{ items: { sessionId: string }[] }>(box, 'GET /api/sessions');
  const untilLogged = (filter: string, count: number): Promise<void> =>
    until(async () => (await call<{ items: object[] }>(box, `GET /api/logs?${filter}`)).body.items.length >= count);
  await untilLogged('name=support&text=completed', 1);
  // The secret and the key.
  await untilLogged('text=credentials_changed', 2);
  return {
    completed,
    failed,
    waiting,
    approval: await asked(waiting),
    otherApproval: await asked(other),
    prompt: prompt.id,
    session: sessions.body.items[0]?.sessionId ?? '',
    key: key.id,
  };
}

async function untilParked(box: TestBox, run: string): Promise<void> {
  await untilStatus(box, run, 'waiting');
  await until(async () => (await call<{ lease: unknown }>(box, `GET /api/runs/${run}/why`)).body.lease === null);
}

/** Both ways: what the box calls a thing, and what it is shown as. */
interface Names {
  show<T>(value: T): T;
  read(text: string): string;
}

const ID =
  /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}|(?<=")[\da-f]{32}(?=")|\b01[\da-f]{18}\b|(?<="|\/)[\w-]{43}(?="|\/|\?|$)/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const AGE_MS = 90_000;
const NO_UUID = '00000000-0000-7000-8000-000000000000';

function createNames(): Names {
  const shown = new Map<string, string>();
  const own = new Map<string, string>();
  const showId = (id: string): string => {
    const known = shown.get(id);
    if (known !== undefined) return known;
    // One that no box has, in what a box says about it.
    if (id.startsWith(NO_UUID.slice(0, -4))) return id;
    // As long as before, and another one from its beginning on: a table shows no more of it.
    const count = String(shown.size + 1).padStart(8, '0');
    const blank = id.length === 36 ? NO_UUID : '0'.repeat(id.length);
    const name = count + blank.slice(8);
    shown.set(id, name);
    own.set(name, id);
    return name;
  };
  // One clock reading for an answer: a duration is made of two of its times.
  const showTimes = (text: string, now: number): string =>
    text.replaceAll(TIME, (time) => new Date(Date.parse(time) > now ? now + 100 * AGE_MS : now - AGE_MS).toISOString());
  return {
    show: (value) => JSON.parse(showTimes(JSON.stringify(value).replaceAll(ID, showId), Date.now())),
    read: (text) => [...own].reduce((read, [name, id]) => read.replaceAll(name, id), text),
  };
}

async function serveAs(url: string, names: Names): Promise<string> {
  const server = createServer(async (request, response) => {
    // Asked before each command of a dev box. It does not count among the requests whose ids are shown.
    if (request.url === WORKSPACE_PATH) return response.writeHead(404).end();
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers as Record<string, string>;
    const answer = await fetch(url + names.read(request.url ?? ''), {
      method: request.method ?? 'GET',
      headers,
      ...(body === '' ? {} : { body: names.read(body) }),
    });
    const text = await answer.text();
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream');
    response.end(isStream ? showFrames(text, names) : JSON.stringify(names.show(JSON.parse(text))));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function showFrames(text: string, names: Names): string {
  return text.replaceAll(
    /^data: (.*)$/gm,
    (_, data: string) => `data: ${JSON.stringify(names.show(JSON.parse(data)))}`,
  );
}
