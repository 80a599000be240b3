import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json as readJson } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { addInstallation } from '../../control-plane/test/_box.ts';
import { ask } from '../../control-plane/test/_people.ts';
import { toProof } from '../../runtime/src/auth/signature.ts';
import { followStream } from '../src/client/follow.ts';
import { countMadeUp } from './_documents.ts';
import { runCli } from './_run.ts';
import { makeProject, readDocument, readError } from './_setup.ts';
import { startSignedIn } from './_plane.ts';
import type { Account } from './_plane.ts';

const SECRET = 'f'.repeat(64);

/** A box of which one token alone is good: it calls them `t1`, `t2` … in the order in which they come. */
interface StrictBox {
  url: string;
  /** The installation it is. */
  id: string;
  good: string;
  /** Authorization and Last-Event-ID of each request. */
  seen: string[];
  /** What a connection that is accepted gets; the number counts them. */
  serve(response: ServerResponse, connection: number): void;
  stop(): Promise<void>;
  start(): Promise<void>;
}

async function startStrictBox(serve: StrictBox['serve']): Promise<StrictBox> {
  let server: Server | undefined;
  let port = 0;
  let accepted = 0;
  const known: (string | undefined)[] = [];
  const nameOf = (token: string | undefined): string => {
    if (!known.includes(token)) known.push(token);
    return `t${known.indexOf(token) + 1}`;
  };
  const box: StrictBox = {
    url: '',
    id: '',
    good: 't1',
    seen: [],
    serve,
    async start() {
      server = createServer((request, response) => {
        if (request.url === '/api/registration/challenge') return void prove(request, response, box.id);
        if (request.url === '/api/contract') return response.end('{"version":15}');
        const token = nameOf(request.headers.authorization?.replace('Bearer ', ''));
        box.seen.push(`${token} ${request.headers['last-event-id'] ?? '-'}`);
        if (token === box.good) return box.serve(response, ++accepted);
        response.writeHead(401, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ code: 'unauthorized', message: 'The token has ended.' }));
      });
      await new Promise<void>((done) => server?.listen(port, '127.0.0.1', done));
      port = (server.address() as AddressInfo).port;
      box.url = `http://127.0.0.1:${port}`;
    },
    async stop() {
      const closed = new Promise((done) => server?.close(done));
      server?.closeAllConnections();
      await closed;
    },
  };
  await box.start();
  countMadeUp();
  onTestFinished(() => box.stop());
  return box;
}

/** Someone who is signed in, at a control plane the box is registered at. */
async function linkTo(box: StrictBox): Promise<Account & { countTokens(): number }> {
  const account = await startSignedIn();
  const { plane, ada } = account;
  box.id = await addInstallation(plane, ada.cookie);
  const body = { url: box.url, hmacSecret: SECRET, imageTag: 'shop:12' };
  const linked = await ask(plane, `POST /api/v1/installations/${box.id}/deployments`, { ...ada, body });
  expect([linked.status, linked.body]).toMatchObject([200, { deployment: { url: box.url } }]);
  return { ...account, countTokens: () => plane.seen.filter((line) => isMint(line)).length };
}

/** The request for a token for a box. */
function isMint(line: string): boolean {
  return /^POST \/api\/v1\/installations\/[^/]+\/token$/.test(line);
}

async function prove(request: IncomingMessage, response: ServerResponse, installationId: string): Promise<void> {
  const { nonce } = (await readJson(request)) as { nonce: string };
  response.end(JSON.stringify({ installationId, proof: toProof(SECRET, nonce, installationId) }));
}

function openEvents(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write('retry: 5\n\n');
}

function frame(id: number): string {
  const record = { id, at: '2026-01-31T12:00:00.000Z', level: 'warn', message: `line ${id}` };
  return `id: ${id}\nevent: log\ndata: ${JSON.stringify(record)}\n\n`;
}

const EXPIRED = 'event: auth_expired\ndata: {}\n\n';
const END = 'event: end\ndata: {}\n\n';
const LOST = /The connection to \S+ is lost\. Connecting again\.\n/g;
const BACK = /Connected to \S+ again\.\n/g;

async function tail(box: StrictBox, env: Record<string, string>, argv: string[] = []) {
  const result = await runCli(['logs', 'tail', '--agent', box.id, ...argv], { env, cwd: await makeProject() });
  return { ...result, lines: result.stdout.match(/line \d+/g) ?? [] };
}

describe('a stream of a box of --agent', () => {
  it('goes on with a fresh token where the one it began with ends, without a word', async () => {
    const box = await startStrictBox((response, connection) => {
      openEvents(response);
      if (connection === 3) return void response.end(frame(3) + END);
      response.write(frame(connection));
      // The next connection needs another token.
      box.good = `t${connection + 1}`;
      response.end(EXPIRED);
    });
    const { env, countTokens } = await linkTo(box);
    const { lines, stderr, exitCode } = await tail(box, env);
    expect({ lines, stderr, exitCode }).toEqual({ lines: ['line 1', 'line 2', 'line 3'], stderr: '', exitCode: 0 });
    expect(box.seen).toEqual(['t1 -', 't1 1', 't2 1', 't2 2', 't3 2']);
    expect(countTokens()).toBe(3);
  });

  it('is over with the words of the box where a fresh token is refused too', async () => {
    const box = await startStrictBox((response) => {
      openEvents(response);
      box.good = 'none';
      response.end(frame(1) + EXPIRED);
    });
    const { env } = await linkTo(box);
    const { lines, stderr, exitCode } = await tail(box, env);
    expect({ lines, exitCode }).toEqual({ lines: ['line 1'], exitCode: 2 });
    expect(stderr).toContain('The token has ended.');
    expect(box.seen).toEqual(['t1 -', 't1 1', 't2 1']);
  });

  it('waits for a control plane that is away when the token ends', async () => {
    const box = await startStrictBox((response, connection) => {
      openEvents(response);
      if (connection === 2) return void response.end(frame(2) + END);
      box.good = 't2';
      plane.isDown = true;
      response.end(frame(1) + EXPIRED);
    });
    const { env, plane } = await linkTo(box);
    const seen = plane.seen.length;
    const tailed = tail(box, env);
    // It has asked in vain at least once.
    await expect.poll(() => plane.isDown && plane.seen.length > seen + 3, { timeout: 20_000 }).toBe(true);
    plane.isDown = false;
    expect((await tailed).lines).toEqual(['line 1', 'line 2']);
  });

  it('renews a token that says when it ends before it is shown', async () => {
    const box = await startStrictBox((response) => response.end('{"items":[]}'));
    const { env, plane, clock, countTokens } = await linkTo(box);
    // Of its five minutes two seconds are left to the first.
    clock.move(-298_000);
    plane.before = (line) => void (isMint(line) && countTokens() === 2 && clock.move(298_000));
    const result = await runCli(['workflows', 'list', '--agent', box.id, '--json'], { env });
    expect(readDocument(result)).toMatchObject({ items: [] });
    // One was shown.
    expect([countTokens(), box.seen]).toEqual([2, ['t1 -']]);
  });
});

describe('a request to a box of --agent', () => {
  it('that is refused for its token is sent once more, with a fresh one', async () => {
    const box = await startStrictBox((response) => response.end('{"items":[]}'));
    const { env } = await linkTo(box);
    box.good = 't2';
    const result = await runCli(['workflows', 'list', '--agent', box.id, '--json'], { env });
    expect(readDocument(result)).toMatchObject({ items: [] });
    box.good = 'none';
    const refused = await runCli(['workflows', 'list', '--agent', box.id, '--json'], { env });
    expect([readError(refused).message, refused.exitCode]).toEqual(['The token has ended.', 2]);
    expect(box.seen).toEqual(['t1 -', 't2 -', 't3 -', 't4 -']);
  });

  it('says that the session has ended where that is why there is no fresh token', async () => {
    const box = await startStrictBox((response) => response.end('{"items":[]}'));
    const { env, plane, revokeAll, countTokens } = await linkTo(box);
    box.good = 'none';
    plane.before = (line) => (isMint(line) && countTokens() === 2 ? revokeAll() : undefined);
    const result = await runCli(['workflows', 'list', '--agent', box.id, '--json'], { env });
    expect([readError(result).code, result.exitCode]).toEqual(['session_expired', 2]);
  });
});

describe('a stream that is cut off', () => {
  it('goes on behind the last whole record, with one line for the loss and one for the return', async () => {
    const box = await startStrictBox((response, connection) => {
      openEvents(response);
      // Half a record is none; it comes again, whole.
      if (connection === 1) return void response.write(frame(1) + frame(2).slice(0, 30), () => response.destroy());
      response.end(frame(2) + frame(3) + END);
    });
    const { env } = await linkTo(box);
    const { lines, stderr } = await tail(box, env);
    expect(lines).toEqual(['line 1', 'line 2', 'line 3']);
    expect([stderr.match(LOST)?.length, stderr.match(BACK)?.length, stderr.split('\n').length]).toEqual([1, 1, 3]);
    expect(box.seen.at(-1)).toBe('t1 1');
  });

  it('outlives a restart of the box', async () => {
    const box = await startStrictBox((response, connection) => {
      openEvents(response);
      if (connection === 2) return void response.end(frame(2) + END);
      response.write(frame(1), () => void restart());
    });
    const restart = async () => {
      await box.stop();
      // It is refused for a while.
      setTimeout(() => void box.start(), 200);
    };
    const { env } = await linkTo(box);
    const { lines, stderr, exitCode } = await tail(box, env, ['--json']);
    expect({ exitCode, count: lines.length }).toEqual({ exitCode: 0, count: 2 });
    expect(stderr).toBe('{"type":"connection","state":"lost"}\n{"type":"connection","state":"open"}\n');
  });

  it('is given up when the box stays away, and one that says nothing counts as lost', async () => {
    const box = await startStrictBox((response, connection) => {
      openEvents(response);
      if (connection === 1) response.write(frame(1));
      else response.end(frame(2), () => void box.stop());
    });
    const said: string[] = [];
    const connection = {
      target: { url: box.url, token: 't1' },
      signal: new AbortController().signal,
      trace() {},
      note() {},
      say: (line: string) => void said.push(line),
    };
    const ids: (string | undefined)[] = [];
    const read = async () => {
      const patience = { awayMs: 300, silentMs: 3_000 };
      for await (const { id } of followStream(connection, { method: 'GET', path: '/x' }, patience)) ids.push(id);
    };
    await expect(read()).rejects.toMatchObject({ code: 'no_deployment', message: `Nothing answers on ${box.url}.` });
    expect(ids).toEqual(['1', '2']);
    expect(said.map((line) => line.replace(box.url, 'it'))).toEqual([
      'The connection to it is lost. Connecting again.',
      'Connected to it again.',
      'The connection to it is lost. Connecting again.',
    ]);
  });
});
