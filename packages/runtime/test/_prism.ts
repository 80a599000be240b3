import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { until } from './_setup.ts';

/** A call through the proxy, and what of it is not as the document says. */
export interface Proxied<T = Record<string, unknown>> {
  status: number;
  body: T;
  text: string;
  /** Of the request and of the response, each as one line. */
  wrong: { request: string[]; response: string[] };
}

export interface Proxy {
  /** `POST /api/runs/x/cancel` */
  send<T>(route: string, body?: unknown, headers?: Record<string, string>): Promise<Proxied<T>>;
}

/** A proxy that holds every call to an OpenAPI document; ends with the test. It hangs on a body that is no JSON. */
export async function startPrism(document: unknown, upstream: string): Promise<Proxy> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-prism-'));
  const file = join(folder, 'openapi.json');
  await writeFile(file, JSON.stringify(document));
  const port = await findPort();
  const main = join(
    dirname(createRequire(import.meta.url).resolve('@stoplight/prism-cli/package.json')),
    'dist/index.js',
  );
  const child = spawn(process.execPath, [main, 'proxy', file, upstream, '--port', String(port)], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await gone;
    await rm(folder, { recursive: true, force: true });
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += String(chunk)));
  await until(() => said.includes('is listening') || child.exitCode !== null, START_MS);
  if (child.exitCode !== null) throw new Error(`The proxy did not start: ${said}`);
  return { send: (route, body, headers = {}) => send(`http://127.0.0.1:${port}`, { route, body, headers }) };
}

// --- internal ---

const START_MS = 60_000;
const CALL_MS = 30_000;

interface Call {
  route: string;
  body: unknown;
  headers: Record<string, string>;
}

async function send<T>(url: string, { route, body, headers }: Call): Promise<Proxied<T>> {
  const [method = '', path = ''] = route.split(' ');
  const hasBody = method !== 'GET' && method !== 'DELETE';
  const answer = await fetch(`${url}${path}`, {
    signal: AbortSignal.timeout(CALL_MS),
    method,
    headers: { ...(hasBody ? { 'content-type': 'application/json' } : {}), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.includes('json');
  const found = JSON.parse(answer.headers.get('sl-violations') ?? '[]') as Violation[];
  const of = (side: string) => found.filter(({ location }) => location[0] === side).map(toLine(route, answer.status));
  return {
    status: answer.status,
    body: (isJson ? JSON.parse(text) : {}) as T,
    text,
    wrong: { request: of('request'), response: of('response') },
  };
}

interface Violation {
  location: string[];
  message: string;
}

function toLine(route: string, status: number): (violation: Violation) => string {
  return ({ location, message }) => `${route} ${status} ${location.join('.')}: ${message}`;
}

/** The proxy takes no port of its own choice. */
async function findPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
