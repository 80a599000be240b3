import type { ConnectOverCDPTransport } from 'playwright-core';
import type { ClientOptions, WebSocket } from 'ws';
import { BoxError } from '../errors.ts';
import { explainCode } from '../provider/ask.ts';
import { createLookup, requireLiteral } from '../provider/egress.ts';
import type { EgressPolicy } from '../provider/egress.ts';
import { policyToCall } from '../provider/given-address.ts';
import { createHttpFetch } from '../provider/http-fetch.ts';
import { browserUnreachable } from './errors.ts';
import { HEADER, hasPlace, PREFIX, toAddress } from './settings.ts';
import type { BrowserEndpoint } from './settings.ts';

export interface SocketOptions {
  endpoint: BrowserEndpoint;
  /** Which addresses may be connected to. Undefined: any, of one that the environment names. */
  egress: EgressPolicy | undefined;
  signal: AbortSignal;
}

/**
 * Opens the debugging socket of a browser. The library is handed what is said over it and never where it leads: neither the
 * address nor the key can stand in an error of its own. Throws `browser_unreachable`.
 */
export async function openSocket({ endpoint, egress, signal }: SocketOptions): Promise<ConnectOverCDPTransport> {
  const headers = toHeaders(endpoint);
  const address = toAddress(endpoint);
  const policy = egress && { ...policyToCall(address, egress), refuse };
  const isWeb = address.protocol === 'http:' || address.protocol === 'https:';
  const url = isWeb ? await findSocket(address, { headers, policy, signal }) : address;
  if (policy) requireLiteral(url, policy);
  const { WebSocket: Socket } = await import('ws');
  signal.throwIfAborted();
  const options: ClientOptions = {
    headers,
    followRedirects: false,
    handshakeTimeout: CONNECT_MS,
    maxPayload: MOST_BYTES,
    perMessageDeflate: false,
    ...(policy ? { lookup: createLookup(policy) } : {}),
  };
  const socket = new Socket(url, options);
  await untilOpen(socket, signal);
  return toTransport(socket);
}

// --- internal ---

const CONNECT_MS = 15_000;
/** Of one message: a picture of a long page is the largest there is. */
const MOST_BYTES = 64 * 1_048_576;
const MOST_VERSION_BYTES = 65_536;

function refuse(what: string): BoxError {
  return browserUnreachable(`${what}. Set SVC_BROWSER_URL in the environment, or list it in SVC_ALLOW_PRIVATE_EGRESS.`);
}

function toHeaders({ url, apiKey, header = HEADER, prefix = PREFIX }: BrowserEndpoint): Record<string, string> {
  return apiKey === undefined || hasPlace(url) ? {} : { [header]: `${prefix}${apiKey}` };
}

interface Question {
  headers: Record<string, string>;
  policy: EgressPolicy | undefined;
  signal: AbortSignal;
}

/** What a browser says of itself names the path of its socket. The host is the one that was asked: it may say any. */
async function findSocket(base: URL, { headers, policy, signal }: Question): Promise<URL> {
  const fetch = createHttpFetch({
    ...(policy ? { check: (url: URL) => requireLiteral(url, policy), lookup: createLookup(policy) } : {}),
    mostBytes: MOST_VERSION_BYTES,
    tooLong: () => browserUnreachable('Its description of itself is too long.'),
  });
  const asked = new URL(base);
  asked.pathname = `${base.pathname.replace(/\/+$/, '')}/json/version`;
  const within = AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]);
  let text = '';
  try {
    const answer = await fetch(asked.href, { headers, signal: within });
    if (!answer.ok) {
      await answer.body?.cancel();
      throw browserUnreachable(explainStatus(answer.status));
    }
    const bytes: Uint8Array[] = [];
    for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) bytes.push(chunk);
    text = Buffer.concat(bytes).toString('utf8');
  } catch (error) {
    signal.throwIfAborted();
    throw explain(error);
  }
  const path = readSocketPath(text);
  if (!path) throw browserUnreachable('The address answers, but not as a browser: it names no webSocketDebuggerUrl.');
  const url = new URL(base);
  url.protocol = base.protocol === 'https:' ? 'wss:' : 'ws:';
  url.pathname = path.pathname;
  url.search = path.search || base.search;
  return url;
}

function readSocketPath(text: string): URL | undefined {
  try {
    const { webSocketDebuggerUrl: url } = JSON.parse(text) as { webSocketDebuggerUrl?: unknown };
    return typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  } catch {
    return undefined;
  }
}

function untilOpen(socket: WebSocket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      signal.removeEventListener('abort', onAbort);
      socket.terminate();
      reject(error as Error);
    };
    const onAbort = (): void => fail(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    // One that is not taken away has no listener when it fails later, and that ends the process.
    socket.on('error', (error) => fail(explain(error)));
    socket.on('unexpected-response', (_, { statusCode = 0 }) => fail(browserUnreachable(explainStatus(statusCode))));
    socket.once('open', () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
  });
}

function toTransport(socket: WebSocket): ConnectOverCDPTransport {
  const transport: ConnectOverCDPTransport = {
    send: (message) => socket.send(JSON.stringify(message), () => {}),
    close: () => socket.close(),
  };
  socket.on('message', (data) => {
    let message: object;
    try {
      message = JSON.parse((data as Buffer).toString('utf8')) as object;
    } catch {
      return socket.terminate();
    }
    transport.onmessage?.(message);
  });
  socket.on('close', () => transport.onclose?.('The browser has closed the connection.'));
  return transport;
}

function explain(error: unknown): BoxError {
  if (error instanceof BoxError) return error;
  const { name, code, message } = error as NodeJS.ErrnoException;
  const isLate = name === 'TimeoutError' || message.includes('timed out');
  const why = isLate ? `It did not answer within ${CONNECT_MS / 1_000} s.` : explainCode(code);
  return browserUnreachable(why, error);
}

function explainStatus(status: number): string {
  if (status === 401 || status === 403) return `It answered ${status}: it refuses the key.`;
  if (status >= 300 && status < 400) return `It answered ${status}. Redirects are not followed.`;
  if (status === 404) return 'It answered 404: there is no browser at that address.';
  if (status === 429) return 'It answered 429: it takes no more sessions for now.';
  return `It answered ${status}.`;
}
