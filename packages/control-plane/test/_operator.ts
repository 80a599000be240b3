import { createServer, request as send } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { startStandalone } from './_setup.ts';
import type { RunningPlane } from './_setup.ts';

export const TOKEN = 'the-token-of-the-operator-of-the-tests';

/** What a server in the place of a box was asked. */
export interface Asked {
  method: string;
  target: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Upstream {
  url: string;
  asked: Asked[];
}

/** A server in the place of a box: it keeps what it is asked, and answers as it is told to. */
export async function startUpstream(
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => response.end('{}'),
): Promise<Upstream> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const one = { method: request.method ?? '', target: request.url ?? '', headers: request.headers, body: '' };
    asked.push(one);
    request.setEncoding('latin1').on('data', (text: string) => {
      if (one.body.length < 1_000) one.body += text;
    });
    answer(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

export interface SignedIn extends RunningPlane {
  cookie: string;
  /** A request of one of its own pages. */
  ask(path: string, init?: RequestInit): Promise<Response>;
}

/** A control plane of one box, whose operator is signed in. */
export async function startSignedIn(env: Record<string, string>, now?: () => number): Promise<SignedIn> {
  const plane = await startStandalone({ STUDIO_STANDALONE_TOKEN: TOKEN, ...env }, now);
  const cookie = cookieOf(await logIn(plane));
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`${plane.url}${path}`, {
      redirect: 'manual',
      ...init,
      headers: { cookie, origin: plane.url, ...(init.headers as Record<string, string>) },
    });
  return { ...plane, cookie, ask };
}

export function logIn(plane: RunningPlane, token = TOKEN, headers: Record<string, string> = {}): Promise<Response> {
  return post(plane, '/api/v1/self-host/login', { token }, headers);
}

export function post(
  { url }: RunningPlane,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url, ...headers },
    body: JSON.stringify(body),
  });
}

export function cookieOf({ headers }: Response): string {
  return headers.getSetCookie()[0]?.split(';')[0] ?? '';
}

/** A request whose target is sent as it is written, which `fetch` would tidy up. */
export function sendTarget(
  { url, cookie }: SignedIn,
  target: string,
  headers: Record<string, string> = {},
): Promise<number> {
  const { port } = new URL(url);
  return new Promise((resolve, reject) => {
    const request = send({ port, path: target, headers: { cookie, ...headers } }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    request.once('error', reject).end();
  });
}

/** Bytes as they are on a connection; answers all that comes back until it is closed. */
export function sendBytes({ url }: RunningPlane, text: string): Promise<string> {
  const { port } = new URL(url);
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(Number(port), '127.0.0.1', () => void socket.write(text));
    socket.setEncoding('latin1').on('data', (chunk: string) => (answer += chunk));
    socket.on('error', () => {}).on('close', () => resolve(answer));
    socket.setTimeout(2_000, () => socket.destroy());
  });
}
