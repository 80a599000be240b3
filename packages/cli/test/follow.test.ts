import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { followStream } from '../src/client/follow.ts';
import { countMadeUp } from './_documents.ts';
import { runCli } from './_run.ts';
import { makeProject, readDocument, readError } from './_setup.ts';
import type { FakePlane } from './_fake-plane.ts';
import { startFakePlane } from './_fake-plane.ts';
import { makeHome } from './_home.ts';

const ID = '4f7c0f0e-5d0c-4b0e-9d52-0c9f6f9a1f10';

/** A box whose tokens are of the names `t1`, `t2` …, of which one alone is good. */
interface StrictBox {
  url: string;
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
  const box: StrictBox = {
    url: '',
    good: 't1',
    seen: [],
    serve,
    async start() {
      server = createServer((request, response) => {
        const token = request.headers.authorization?.replace('Bearer ', '');
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

/** Someone who is signed in, at a plane that gives `t1`, `t2` … for the box. */
async function linkTo(box: StrictBox): Promise<{ plane: FakePlane; env: Record<string, string>; given: string[] }> {
  const plane = await startFakePlane();
  const env = makeHome(plane);
  await runCli(['login', '--no-browser'], { env });
  plane.agents.push(plane.makeAgent({ id: ID, name: 'shop', url: box.url }));
  const given: string[] = [];
  plane.makeToken = () => {
    given.push(`t${given.length + 1}`);
    return given.at(-1) ?? '';
  };
  return { plane, env, given };
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

async function tail(env: Record<string, string>, argv: string[] = []) {
  const result = await runCli(['logs', 'tail', '--agent', ID, ...argv], { env, cwd: await makeProject() });
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
    const { env, given } = await linkTo(box);
    const { lines, stderr, exitCode } = await tail(env);
    expect({ lines, stderr, exitCode }).toEqual({ lines: ['line 1', 'line 2', 'line 3'], stderr: '', exitCode: 0 });
    expect(box.seen).toEqual(['t1 -', 't1 1', 't2 1', 't2 2', 't3 2']);
    expect(given).toEqual(['t1', 't2', 't3']);
  });

  it('is over with the words of the box where a fresh token is refused too', async () => {
    const box = await startStrictBox((response) => {
      openEvents(response);
      box.good = 'none';
      response.end(frame(1) + EXPIRED);
    });
    const { env } = await linkTo(box);
    const { lines, stderr, exitCode } = await tail(env);
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
    const tailed = tail(env);
    // It has asked in vain at least once.
    await expect.poll(() => plane.isDown && plane.seen.length > seen + 3, { timeout: 20_000 }).toBe(true);
    plane.isDown = false;
    expect((await tailed).lines).toEqual(['line 1', 'line 2']);
  });

  it('renews a token that says when it ends before it is shown', async () => {
    const box = await startStrictBox((response) => response.end('{"items":[]}'));
    const { env, plane } = await linkTo(box);
    const toToken = (seconds: number) =>
      `h.${Buffer.from(JSON.stringify({ exp: Math.floor(Date.now() / 1000) + seconds })).toString('base64url')}.s`;
    const tokens = [toToken(2), toToken(300)];
    box.good = tokens[1] ?? '';
    plane.makeToken = () => tokens.shift() ?? '';
    expect(readDocument(await runCli(['workflows', 'list', '--agent', ID, '--json'], { env }))).toMatchObject({
      items: [],
    });
    expect(box.seen).toEqual([`${box.good} -`]);
  });
});

describe('a request to a box of --agent', () => {
  it('that is refused for its token is sent once more, with a fresh one', async () => {
    const box = await startStrictBox((response) => response.end('{"items":[]}'));
    const { env } = await linkTo(box);
    box.good = 't2';
    const result = await runCli(['workflows', 'list', '--agent', ID, '--json'], { env });
    expect(readDocument(result)).toMatchObject({ items: [] });
    box.good = 'none';
    const refused = await runCli(['workflows', 'list', '--agent', ID, '--json'], { env });
    expect([readError(refused).message, refused.exitCode]).toEqual(['The token has ended.', 2]);
    expect(box.seen).toEqual(['t1 -', 't2 -', 't3 -', 't4 -']);
  });

  it('says that the session has ended where that is why there is no fresh token', async () => {
    const box = await startStrictBox((response) => response.end('{"items":[]}'));
    const { env, plane } = await linkTo(box);
    box.good = 'none';
    plane.makeToken = () => {
      plane.revokeAll();
      return 't1';
    };
    const result = await runCli(['workflows', 'list', '--agent', ID, '--json'], { env });
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
    const { lines, stderr } = await tail(env);
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
    const { lines, stderr, exitCode } = await tail(env, ['--json']);
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
      const patience = { awayMs: 300, silentMs: 1_000 };
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
