import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { operatorToken } from '../src/auth/strategy.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { createHook, createWebhook } from '../src/engine/primitives/hook.ts';
import type { RequestWithResponse } from '../src/engine/primitives/hook.ts';
import { listHooks } from '../src/engine/stores/contract/world.ts';
import { call, setupBoxes, toStep, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

// What whoever has the address of one webhook, or none, sends to a box over its socket.

const boxes = setupBoxes();
const TOKEN = 'the-token-of-the-operator';
const as = (value: string) => ({ authorization: `Bearer ${value}` });
const sayDone = toStep('sayDone', async (request: RequestWithResponse) => request.respondWith(new Response('done')));
const sayBack = toStep('sayBack', async (request: RequestWithResponse) =>
  request.respondWith(new Response(await request.text())),
);
const sayValue = Object.assign(
  toStep('sayValue', async (request: RequestWithResponse) => {
    const { value } = (await request.json()) as { value: string };
    return request.respondWith(new Response('done', { headers: { 'x-value': value } }));
  }),
  { maxRetries: 0 },
);
const shared = boxes.share({
  workflows: {
    once: { run: async () => (await createWebhook()).text() },
    manual: {
      run: async () => {
        const request = await createWebhook({ respondWith: 'manual' });
        await sayDone(request);
        return request.text();
      },
    },
    echo: {
      run: async () => {
        const request = await createWebhook({ respondWith: 'manual' });
        await sayBack(request);
      },
    },
    headers: { run: async () => [...(await createWebhook()).headers] },
    answers: {
      run: async () => {
        const request = await createWebhook({ respondWith: 'manual' });
        await sayValue(request);
      },
    },
    hook: { run: async () => createHook() },
    approval: { run: async () => requestApproval({ title: 'Go?' }) },
  },
  options: { host: 'image', strategy: operatorToken(TOKEN) },
});

let box: TestBox;
let url: string;
beforeAll(async () => {
  box = await shared();
  url = await box.listen();
});

interface Parked {
  runId: string;
  token: string;
}

/** A run that waits, and what its hook is called by. */
async function park(name: string): Promise<Parked> {
  const { body } = await call<{ runId: string }>(box, `POST /api/workflows/${name}/start`, {}, as(TOKEN));
  await until(async () => (await statusOf(body.runId)) === 'waiting');
  const [hook] = await listHooks(box.journal, body.runId);
  return { runId: body.runId, token: hook?.token ?? '' };
}

const runOf = async (runId: string) => (await call(box, `GET /api/runs/${runId}`, undefined, as(TOKEN))).body;
const statusOf = async (runId: string) => (await runOf(runId)).status;
const post = (token: string, body: string | Uint8Array<ArrayBuffer> | null = '{}', init: RequestInit = {}) =>
  fetch(`${url}/api/webhooks/${token}`, {
    method: 'POST',
    body,
    ...init,
    headers: { 'content-type': 'application/json', ...init.headers },
  });

/** What a box answers to these very bytes. */
async function sendRaw(text: string | Buffer): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  let answer = '';
  socket.on('data', (part) => (answer += String(part)));
  socket.write(text);
  await once(socket, 'close');
  return answer;
}

test('a call that is sent again resumes nothing, however it is sent', async () => {
  const { runId, token } = await park('once');
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => post(token, `"${n}"`)));
  expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
  await until(async () => (await statusOf(runId)) === 'completed');
  const { output } = await runOf(runId);
  const again: RequestInit[] = [
    {},
    { headers: { 'idempotency-key': 'k' } },
    { method: 'PUT' },
    { method: 'DELETE', body: null },
  ];
  for (const init of again) expect((await post(token, '"again"', init)).status).toBeGreaterThanOrEqual(400);
  expect((await runOf(runId)).output).toBe(output);
});

test('the first body is not disclosed to later callers', async () => {
  const { runId, token } = await park('once');
  await post(token, '"the card is 4111 1111 1111 1111"');
  await until(async () => (await statusOf(runId)) === 'completed');
  expect(await (await post(token)).text()).not.toContain('4111');
});

test.each<[title: string, edit: (token: string) => string]>([
  ['in other letters', (token) => token.toUpperCase()],
  ['without its last letter', (token) => token.slice(0, -1)],
  ['with one more', (token) => `${token}A`],
  ['with a part behind it', (token) => `${token}/x`],
  ['with a zero behind it', (token) => `${token}%00`],
  ['with a pattern', (token) => `${token.slice(0, 8)}%25`],
  ['as all tokens', () => '%'],
  ['of nothing', () => ''],
  ['by SQL', () => "x' or '1'='1"],
  ['by what every object has', () => '__proto__'],
  ['of a megabyte', () => 'x'.repeat(7_000)],
])('a token %s is none', async (_title, edit) => {
  const { runId, token } = await park('once');
  expect((await post(edit(token))).status).toBeGreaterThanOrEqual(400);
  expect(await statusOf(runId)).toBe('waiting');
});

test.each(['hook', 'approval'])('the token of a %s is none', async (name) => {
  const { runId, token } = await park(name);
  const { status, text } = await post(token, '{"decision":"approve"}').then(async (answer) => ({
    status: answer.status,
    text: await answer.text(),
  }));
  expect([status, text]).toEqual([404, expect.not.stringContaining(runId)]);
  expect(await statusOf(runId)).toBe('waiting');
});

test('an API key neither resumes nor decides what a webhook is not for', async () => {
  const grants = { agents: 'all', workflows: 'all' };
  const { body: key } = await call<{ value: string }>(box, 'POST /api/keys', { name: 'a', grants }, as(TOKEN));
  for (const name of ['hook', 'approval', 'once']) {
    const { runId, token } = await park(name);
    const resume = `POST /api/workflows/hooks/${token}/resume`;
    expect((await call(box, resume, { decision: 'approve' }, as(key.value))).status).toBe(403);
    expect(
      (await call(box, `POST /api/approvals/${token}/decide`, { decision: 'approve' }, as(key.value))).status,
    ).toBe(403);
    expect((await call(box, `GET /api/runs/${runId}/webhooks`, undefined, as(key.value))).status).toBe(403);
    expect(await statusOf(runId)).toBe('waiting');
  }
});

const BAD: Record<string, (token: string) => string | Buffer> = {
  'that breaks off': (token) => `${head(token, 'content-length: 1000')}{"half":`,
  'that says two lengths': (token) => `${head(token, 'content-length: 2', 'content-length: 4')}{}{}`,
  'that says a length and chunks': (token) =>
    `${head(token, 'content-length: 2', 'transfer-encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`,
  'whose chunks are none': (token) => `${head(token, 'transfer-encoding: chunked')}zz\r\n{}\r\n0\r\n\r\n`,
  'whose chunk is larger than it': (token) => `${head(token, 'transfer-encoding: chunked')}ffffffffffffffff\r\n{}`,
  'of more than 1 MiB in chunks': (token) =>
    Buffer.concat([
      Buffer.from(head(token, 'transfer-encoding: chunked')),
      ...Array.from({ length: 40 }, () => Buffer.from(`8000\r\n${' '.repeat(0x8000)}\r\n`)),
      Buffer.from('0\r\n\r\n'),
    ]),
  'whose JSON nests 65 levels': (token) => whole(token, `${'['.repeat(65)}${']'.repeat(65)}`),
  'whose JSON reaches for the prototype': (token) => whole(token, '{"__proto__":{"role":"owner"}}'),
};

function head(token: string, ...lines: string[]): string {
  const fixed = ['host: 127.0.0.1', 'content-type: application/json', 'connection: close'];
  return `POST /api/webhooks/${token} HTTP/1.1\r\n${[...fixed, ...lines].join('\r\n')}\r\n\r\n`;
}

function whole(token: string, body: string): string {
  return `${head(token, `content-length: ${Buffer.byteLength(body)}`)}${body}`;
}

test.each(Object.keys(BAD))('a body %s resumes nothing', async (title) => {
  const { runId, token } = await park('once');
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  let said = '';
  socket.on('data', (part) => (said += String(part)));
  socket.end((BAD[title] as (text: string) => string | Buffer)(token));
  await once(socket, 'close');
  expect(said === '' || Number(said.slice(9, 12)) >= 400).toBe(true);
  expect(await statusOf(runId)).toBe('waiting');
  // And the right one is taken yet.
  expect((await post(token, '"good"')).status).toBeLessThan(300);
});

test('a body that is packed is not unpacked', async () => {
  const { runId, token } = await park('once');
  const bomb = gzipSync(Buffer.alloc(50 * 1_048_576));
  const headers = { 'content-encoding': 'gzip', 'content-type': 'application/octet-stream' };
  await post(token, new Uint8Array(bomb), { headers });
  await until(async () => (await statusOf(runId)) === 'completed');
  expect(String((await runOf(runId)).output).length).toBeLessThan(2 * bomb.length);
});

test('a caller that goes before its answer leaves a run that ends', async () => {
  const { runId, token } = await park('manual');
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write(whole(token, '{}'), () => socket.destroy());
  await until(async () => (await statusOf(runId)) === 'completed');
});

test('a second request in the bytes of the first has what it says itself', async () => {
  const [first, second] = [await park('once'), await park('once')];
  const smuggled = `POST /api/webhooks/${second.token} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`;
  const outer = `${head(first.token, `content-length: ${smuggled.length}`).replace('application/json', 'text/plain')}${smuggled}`;
  await sendRaw(outer);
  await until(async () => (await statusOf(first.runId)) === 'completed');
  expect((await runOf(first.runId)).output).toBe(smuggled);
  expect(await statusOf(second.runId)).toBe('waiting');
});

test.each(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND'])(
  '%s without a body shows and takes what it is for',
  async (method) => {
    const { runId, token } = await park('once');
    const said = await sendRaw(
      `${method} /api/webhooks/${token} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`,
    );
    expect(said).not.toContain(runId);
    // A GET is a call as any other.
    await expect.poll(async () => (await statusOf(runId)) === 'waiting').toBe(method !== 'GET');
  },
);

test('two callers at once are kept apart: each answer that is written goes to the one that asked', async () => {
  const parked = await Promise.all([park('echo'), park('echo'), park('echo')]);
  const answers = await Promise.all(parked.map(async ({ token }, n) => (await post(token, `"of ${n}"`)).text()));
  expect(answers).toEqual(parked.map((_, n) => `"of ${n}"`));
});

test('a body that says it is of another kind is what it is', async () => {
  for (const type of [
    'application/json; charset=utf-16',
    'application/xml',
    'multipart/form-data; boundary=x',
    'a/b, c/d',
  ]) {
    const { runId, token } = await park('once');
    const xml = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>';
    const { status } = await post(token, xml, { headers: { 'content-type': type } });
    if (status >= 400) continue;
    await until(async () => (await statusOf(runId)) === 'completed');
    expect((await runOf(runId)).output).toBe(xml);
  }
});

test('credentials of its caller are in nothing that is kept of the call', async () => {
  const { runId, token } = await park('headers');
  const stolen = { authorization: 'Bearer stolen', cookie: 'sid=stolen', 'proxy-authorization': 'Basic stolen' };
  await post(token, '{}', { headers: { ...stolen, 'x-kept': 'kept' } });
  await until(async () => (await statusOf(runId)) === 'completed');
  for (const path of ['', '/steps', '/timeline', '/why', '/export']) {
    const text = await (await fetch(`${url}/api/runs/${runId}${path}`, { headers: as(TOKEN) })).text();
    expect([path, text.includes('stolen')]).toEqual([path, false]);
  }
  expect(JSON.stringify((await runOf(runId)).output)).toContain('kept');
});

test.each(['%00', '%0d%0aset-cookie:a=b', '..%2f..%2fapi%2fkeys', '%F0%9F', '%', '%C0%AE%C0%AE', '[]', '{"$ne":1}'])(
  'an address that ends in %j is no webhook, and no other route',
  async (end) => {
    const said = await sendRaw(
      `POST /api/webhooks/${end} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`,
    );
    expect([said.slice(9, 10), /set-cookie/i.test(said), said.includes('svc_')]).toEqual(['4', false, false]);
  },
);

test('an answer of a workflow sets no second header, and no status that there is not', async () => {
  const { runId, token } = await park('answers');
  const { status, headers } = await post(token, JSON.stringify({ value: 'a\r\nset-cookie: a=b' }));
  expect([headers.get('set-cookie'), status < 600]).toEqual([null, true]);
  await until(async () => ['completed', 'failed'].includes(String(await statusOf(runId))));
});

test('a thousand guesses reveal nothing of what there is, and hold up no one', async () => {
  const { runId, token } = await park('once');
  const guess = (n: number) => `${token.slice(0, -6)}${String(n).padStart(6, '0')}`;
  const answers = await Promise.all(Array.from({ length: 1_000 }, async (_, n) => (await post(guess(n))).text()));
  const said = new Set(answers.map((text) => text.replace(/"requestId":"[^"]*"/, '')));
  expect(said.size).toBe(1);
  const begun = performance.now();
  expect((await fetch(`${url}/live`)).status).toBe(200);
  expect(performance.now() - begun).toBeLessThan(20_000);
  expect((await post(token, '"mine"')).status).toBeLessThan(300);
  await until(async () => (await statusOf(runId)) === 'completed');
});

test('of a run that was cancelled, retried or replaced the old address resumes nothing but its own', async () => {
  const { runId, token } = await park('once');
  await call(box, `POST /api/runs/${runId}/cancel`, {}, as(TOKEN));
  await until(async () => (await statusOf(runId)) === 'cancelled');
  expect((await post(token, '"late"')).status).toBeGreaterThanOrEqual(400);
  const { body } = await call<{ runId: string }>(box, `POST /api/runs/${runId}/retry`, { from: 'start' }, as(TOKEN));
  await until(async () => (await statusOf(body.runId)) === 'waiting');
  const [hook] = await listHooks(box.journal, body.runId);
  const isSame = hook?.token === token;
  expect((await post(token, '"old"')).status < 300).toBe(isSame);
  await until(async () => (await statusOf(body.runId)) === (isSame ? 'completed' : 'waiting'));
});

test('a name in the host of a request does not stand in the address that a run hands out', async () => {
  const started = await sendRaw(
    `POST /api/workflows/once/start HTTP/1.1\r\nhost: evil.example\r\nx-forwarded-host: evil.example\r\nauthorization: Bearer ${TOKEN}\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`,
  );
  const runId = /"runId":"([^"]+)"/.exec(started)?.[1] ?? '';
  await until(async () => (await statusOf(runId)) === 'waiting');
  const { body } = await call<{ items: { url: string }[] }>(
    box,
    `GET /api/runs/${runId}/webhooks`,
    undefined,
    as(TOKEN),
  );
  expect(body.items[0]?.url).not.toContain('evil');
});
