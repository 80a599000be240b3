import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, request as send } from 'node:http';
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, RequestListener, Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { createRelay } from '../../control-plane/src/tunnel/relay.ts';
import type { CreatedTunnel, RelayOptions, Relay } from '../../control-plane/src/tunnel/relay.ts';
import { keepAttached } from '../src/dev/tunnel/keep.ts';

export interface TestRelay extends Omit<Relay, 'create'> {
  create(tunnel: { installationId: string; userId?: string }): Promise<CreatedTunnel>;
  port: number;
  /** Cuts every connection of boxes, as a network does. */
  cut(): void;
}

const silent = () => {};
const log = { debug: silent, info: silent, warn: silent, error: silent };

/** A relay that listens on a port of its own. */
export async function startRelay(options: Partial<RelayOptions> = {}): Promise<TestRelay> {
  const boxes = new Set<Socket>();
  const relay = createRelay({
    now: Date.now,
    log,
    key: randomBytes(32),
    domain: 'localhost',
    publicUrl: () => `http://localhost:${port}`,
    addressOf: ({ socket }) => socket.remoteAddress,
    ...options,
  });
  const server = createServer((request, response) => {
    if (!relay.handle(request, response)) response.writeHead(404).end();
  });
  server.on('upgrade', (request, socket, head) => {
    boxes.add(socket as Socket);
    relay.attach(request, socket, head);
  });
  const port = await open(server);
  onTestFinished(() => relay.close());
  return {
    ...relay,
    create: ({ installationId, userId = 'ada' }) =>
      relay.create({ installationId, holder: { userId, credentialId: 'session' } }),
    port,
    cut() {
      for (const socket of boxes) socket.destroy();
      boxes.clear();
    },
  };
}

/** What stands for the box: any HTTP server. Answers its port. */
export async function startBehind(listener: RequestListener): Promise<number> {
  return open(createServer(listener));
}

export interface TestTunnel {
  host: string;
  /** What the person at the terminal reads. */
  said: string[];
  installationId: string;
  close(): Promise<void>;
}

export async function openTunnel(
  relay: TestRelay,
  port: number,
  installationId: string = randomUUID(),
): Promise<TestTunnel> {
  const { publicUrl, relayUrl, token } = await relay.create({ installationId });
  const said: string[] = [];
  const close = await keepAttached({
    relayUrl,
    token,
    port,
    publicUrl,
    say: (line) => void said.push(line),
    backOff: () => 20,
  });
  onTestFinished(close);
  return { host: new URL(publicUrl).host, said, installationId, close };
}

export interface Asking {
  method?: string;
  path?: string;
  headers?: OutgoingHttpHeaders;
}

/** A request from outside, whose body is still to be sent. */
export function begin(relay: Pick<TestRelay, 'port'>, host: string, asking: Asking = {}): ClientRequest {
  const { method = 'GET', path = '/', headers = {} } = asking;
  // A connection of its own: the name in it decides, and whether one is used again is of no interest.
  return send({ host: '127.0.0.1', port: relay.port, method, path, agent: false, headers: { host, ...headers } });
}

export function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.once('error', reject);
  });
}

export interface Whole {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
}

export async function ask(
  relay: Pick<TestRelay, 'port'>,
  host: string,
  asking: Asking & { body?: string } = {},
): Promise<Whole> {
  const request = begin(relay, host, asking);
  request.end(asking.body);
  const answer = await answerTo(request);
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  return { status: answer.statusCode ?? 0, headers: answer.headers, text };
}

// --- internal ---

async function open(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
