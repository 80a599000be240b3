import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { runCli } from './_run.ts';
import type { CliResult } from '../src/main.ts';
import type { CaptureOptions } from '../src/terminal/terminal.ts';
import { countMadeUp } from './_documents.ts';

export const REQUEST_ID = 'req-7';

/** What a route answers: a status and a JSON value, or a text for a program that is no box. */
export interface Reply {
  status?: number;
  body?: unknown;
  text?: string;
}

export interface Seen {
  /** Method, path and query as they came: `GET /api/runs?limit=2`. */
  line: string;
  body: string;
  contentType: string | undefined;
  idempotencyKey: string | undefined;
}

export interface TestBox {
  url: string;
  seen: Seen[];
}

/** A real HTTP server that answers like the box. A route that is missing answers the 404 of the box. */
export async function startBox(routes: Record<string, Reply | ((body: string) => Reply)>): Promise<TestBox> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const path = (request.url ?? '').split('?')[0];
    const { 'content-type': contentType, 'idempotency-key': key } = request.headers;
    const idempotencyKey = key === undefined ? undefined : String(key);
    // What every command asks first, to know whose box it is.
    if (path !== '/.svc/workspace')
      seen.push({ line: `${request.method} ${request.url}`, body, contentType, idempotencyKey });
    const route = routes[`${request.method} ${path}`];
    const reply =
      (typeof route === 'function' ? route(body) : route) ?? failure(404, 'not_found', `There is no route ${path}.`);
    response.statusCode = reply.status ?? 200;
    response.setHeader('x-request-id', REQUEST_ID);
    response.setHeader('content-type', 'application/json');
    response.end(reply.text ?? JSON.stringify(reply.body));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  countMadeUp();
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

/** A failure as the box writes it. */
export function failure(status: number, code: string, message: string, details?: object): Reply {
  return { status, body: { code, message, ...(details ? { details } : {}), requestId: REQUEST_ID } };
}

/** A workspace folder whose dev runtime is noted to be at `url`. */
export async function makeProject(url?: string): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'svc-cli-')));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await mkdir(join(root, 'workflows'));
  if (url) await noteDev(root, { pid: process.pid, url, startedAt: new Date().toISOString() });
  return root;
}

export async function noteDev(root: string, note: unknown): Promise<void> {
  await mkdir(join(root, '.svc'), { recursive: true });
  await writeFile(join(root, '.svc', 'dev.json'), typeof note === 'string' ? note : JSON.stringify(note));
}

/** An address nothing listens on. */
export async function closedAddress(): Promise<string> {
  return `http://127.0.0.1:${await findPort()}`;
}

/** One that is free at this moment. */
export async function findPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

/** Runs a command in a fresh workspace whose dev runtime is the box. */
export async function runAgainst(box: TestBox, argv: string[], options: CaptureOptions = {}): Promise<CliResult> {
  return runCli(argv, { cwd: await makeProject(box.url), env: UTF8, ...options });
}

export const UTF8 = { LANG: 'C.UTF-8' };

/** The one document of --json. Throws when stdout holds none, or more. */
export function readDocument({ stdout }: CliResult): Record<string, unknown> {
  return JSON.parse(stdout) as Record<string, unknown>;
}

export function readError(result: CliResult) {
  return readDocument(result).error as {
    code: string;
    message: string;
    suggestion: string;
    details: object;
    requestId?: string;
  };
}
