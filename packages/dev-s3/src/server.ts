import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';

import { answerError } from './answer.ts';
import type { Answer } from './answer.ts';
import { checkBucketName } from './buckets.ts';
import { answerPreflight, formatCors } from './cors.ts';
import { S3Error } from './errors.ts';
import { openFolderStore } from './folder-store.ts';
import { listSettings, readRequest } from './request.ts';
import { routeCall } from './routes.ts';
import { verifySignature } from './signature.ts';
import type { Credentials } from './signature.ts';
import type { ObjectStore, UploadStore } from './store.ts';

export interface ObjectServerOptions {
  /** Where the objects are kept. One server at a time. */
  dir: string;
  /** 0 takes a free one. */
  port: number;
  host?: '127.0.0.1';
  /** What the `Host` of a request may be besides a name of this machine, for a proxy in front. */
  hosts?: readonly string[];
  accessKey: string;
  secretKey: string;
  /** The region clients must sign for; `us-east-1` unless said otherwise. */
  region?: string;
  /** Made when missing. */
  buckets: string[];
  /** Called with what is answered as a bare 500; stderr unless given. */
  onError?: (error: unknown) => void;
}

export interface ObjectServer {
  url: string;
  /** Answers what is under way for a second at most, then closes every connection. */
  close(): Promise<void>;
}

/**
 * Serves the folder over the part of the S3 protocol that `routes.ts` lists: path style, SigV4, this machine only.
 * Rejects with an error whose `code` is `port_busy` when the port is taken; the folder is untouched then.
 */
export async function startObjectServer(options: ObjectServerOptions): Promise<ObjectServer> {
  if (!options.accessKey || !options.secretKey) {
    throw new Error('The object store has no access key or no secret key. It never runs without them; give it both.');
  }
  options.buckets.forEach(checkBucketName);
  const running = new Set<Promise<void>>();
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: HEADERS_TIMEOUT_MS });
  server.timeout = IDLE_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  // The port first: a second start on the same port fails before it clears what the first is writing.
  const stores = listen(server, options.port, options.host ?? '127.0.0.1').then(() => openStores(options));
  const context: Context = {
    stores,
    credentials: {
      accessKey: options.accessKey,
      secretKey: options.secretKey,
      region: options.region ?? 'us-east-1',
    },
    hosts: options.hosts ?? [],
    onError: options.onError ?? ((error) => console.error(error)),
  };
  const accept = (incoming: IncomingMessage, response: ServerResponse, acceptBody?: () => void) => {
    const work = serve(context, { incoming, response, acceptBody }).finally(() => running.delete(work));
    running.add(work);
  };
  server.on('request', (incoming, response) => accept(incoming, response));
  server.on('checkContinue', (incoming, response) => accept(incoming, response, () => response.writeContinue()));

  const close = () => closeServer(server, running);
  try {
    await stores;
  } catch (error) {
    await close();
    throw error;
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

// --- internal ---

interface Stores {
  objects: ObjectStore;
  uploads: UploadStore;
}

interface Context {
  stores: Promise<Stores>;
  credentials: Credentials;
  hosts: readonly string[];
  onError: (error: unknown) => void;
}

interface Exchange {
  incoming: IncomingMessage;
  response: ServerResponse;
  /** Present when the client waits for a 100 before it sends the body. */
  acceptBody: (() => void) | undefined;
}

const REQUEST_TIMEOUT_MS = 60 * 60 * 1000;
const IDLE_TIMEOUT_MS = 2 * 60 * 1000;
const HEADERS_TIMEOUT_MS = 10 * 1000;
const KEEP_ALIVE_MS = 60 * 1000;
const CLOSE_GRACE_MS = 1000;
const LOCAL_HOST = /^(?:127\.0\.0\.1|(?:[a-z0-9][a-z0-9.-]*\.)?localhost|\[::1\])(?::\d{1,5})?$/i;

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? portBusy(port) : error),
    );
    server.listen(port, host, resolve);
  });
}

function portBusy(port: number): Error {
  const message = `Port ${port} is in use, so the object store cannot start.`;
  return Object.assign(new Error(message), { code: 'port_busy', details: { port } });
}

async function openStores(options: ObjectServerOptions): Promise<Stores> {
  const stores = await openFolderStore(options.dir);
  for (const bucket of options.buckets) await stores.objects.createBucket(bucket);
  return stores;
}

async function closeServer(server: Server, running: ReadonlySet<Promise<void>>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await closed;
  clearTimeout(timer);
  await Promise.all(running);
}

async function serve(context: Context, exchange: Exchange): Promise<void> {
  const { incoming, response } = exchange;
  const id = randomBytes(8).toString('hex').toUpperCase();
  try {
    const answer = await answerOrError(context, exchange, id);
    await sendAnswer(exchange, answer, id);
  } catch (error) {
    // The answer is on its way already, or cannot be written: all that is left is to break it off.
    if (!isClientGone(error)) context.onError(error);
    response.destroy();
  }
  // The rest of a refused body, so that the client gets to read why.
  incoming.resume();
}

async function answerOrError(context: Context, exchange: Exchange, id: string): Promise<Answer> {
  try {
    return await handle(context, exchange, id);
  } catch (error) {
    const known =
      error instanceof S3Error ? error : new S3Error('InternalError', 'The server failed. Its log says why.');
    if (error !== known && !exchange.incoming.destroyed) context.onError(error);
    return answerError(known, { id, resource: (exchange.incoming.url ?? '').split('?', 1)[0] ?? '' });
  }
}

async function handle(context: Context, { incoming, acceptBody }: Exchange, id: string): Promise<Answer> {
  const { host = '' } = incoming.headers;
  if (!LOCAL_HOST.test(host) && !context.hosts.includes(host)) {
    throw new S3Error('AccessDenied', `This server answers to localhost only, not to "${host}".`);
  }
  if (incoming.method === 'OPTIONS') return answerPreflight(incoming);
  const request = readRequest(incoming, { id, acceptBody });
  const authorized = verifySignature(request, context.credentials, new Date());
  const { objects, uploads } = await context.stores;
  const settings = listSettings(request);
  return routeCall({ request, authorized, settings, objects, uploads, region: context.credentials.region });
}

async function sendAnswer({ incoming, response, acceptBody }: Exchange, answer: Answer, id: string): Promise<void> {
  const { body } = answer;
  try {
    const headers: Record<string, string> = { ...answer.headers, 'x-amz-request-id': id };
    if (typeof body === 'string') headers['content-length'] = String(Buffer.byteLength(body));
    // A client that got no 100 Continue may send its body or not; the connection cannot be read any further.
    if (acceptBody && !incoming.readableEnded) headers['connection'] = 'close';
    response.writeHead(answer.status, { ...headers, ...formatCors(incoming.headers.origin, headers), vary: 'Origin' });
    if (incoming.method === 'HEAD' || body === undefined) response.end();
    else if (typeof body === 'string') response.end(body);
    else await pipeline(body.object.read(body.range), response);
  } finally {
    if (typeof body === 'object') await body.object.close();
  }
}

function isClientGone(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE'].includes(code);
}
