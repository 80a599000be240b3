import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { H3 } from 'h3';
import { toNodeHandler } from 'h3/node';
import { portBusy } from '../errors.ts';
import { LOOPBACK_PROXIES, toCallerAddress } from './address.ts';
import type { Proxies } from './address.ts';
import { createBodyBudget, setBodyBudget } from './body-budget.ts';
import type { BodyBudgetOptions } from './body-budget.ts';
import { STALL_MS } from './sse.ts';
import { markTunnelled } from './tunnelled.ts';

export interface Listener {
  url: string;
  port: number;
  /** Stops accepting, waits up to `graceMs` for answers under way, then cuts what is left. */
  close(graceMs?: number): Promise<void>;
}

export interface ListenOptions {
  port: number;
  host: string;
  /** How long a client may take nothing of an answer that is made, in milliseconds. */
  stallMs?: number;
  /** How much of bodies is read at once. */
  bodies?: BodyBudgetOptions;
  /** How many connections are open at once. Default 10,000. */
  connections?: number;
  /** How many of them come from one address. Default: half of all, so that none keeps the others out. */
  connectionsOfAddress?: number;
  /** Those that ask for many. Default: what runs on this machine. */
  proxies?: Proxies;
  /** All that comes in here has come through a tunnel: it is let in as by a deployed box. */
  isTunnel?: boolean;
  /** Answers what is not for the app, by the name it is asked under for example; true: it does. */
  divert?(request: IncomingMessage, response: ServerResponse): boolean;
  /** Takes over a connection that is to be no HTTP any more. Default: it is asked for in vain. */
  onUpgrade?(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

/**
 * Serves the app on exactly this port, and never moves to another. Rejects with `code: 'port_busy'` when it is taken, and
 * `port_unusable` when the system does not give it away.
 */
export function listen(app: H3, options: ListenOptions): Promise<Listener> {
  const handle = toNodeHandler(app) as RequestListener;
  const { stallMs = STALL_MS, connections = MOST_CONNECTIONS } = options;
  const budget = createBodyBudget(options.bodies);
  const server = createServer(
    { keepAliveTimeout: 65_000, headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 1_000 },
    (request, response) => {
      response.once('prefinish', () => limitStall(response, stallMs));
      // It was asked for behind another one, whose limit is not its own.
      if (hasTwoHosts(request)) return refuse(response);
      if (options.divert?.(request, response)) return;
      if (options.isTunnel) markTunnelled(request);
      setBodyBudget(request, budget);
      if (!response.socket) response.once('socket', (socket: Socket) => socket.setTimeout(0));
      return handle(request, response);
    },
  );
  server.maxConnections = connections;
  server.on('connection', createLimitOfAddress(options));
  if (options.onUpgrade) server.on('upgrade', options.onUpgrade);
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE' ? portBusy(options.port, { cause: error }) : portUnusable(options.port, error),
      ),
    );
    server.listen(options.port, options.host, () => {
      const { port } = server.address() as AddressInfo;
      resolve({
        port,
        url: `http://${options.host === '0.0.0.0' ? '127.0.0.1' : options.host}:${port}`,
        async close(graceMs = 2_000) {
          const closed = new Promise<void>((done) => server.close(() => done()));
          server.closeIdleConnections();
          const cut = setTimeout(() => server.closeAllConnections(), graceMs);
          await closed;
          clearTimeout(cut);
        },
      });
    });
  });
}

// --- internal ---

/** Cuts off a connection of an address that has as many as one may have. */
function createLimitOfAddress(options: ListenOptions): (socket: Socket) => void {
  const {
    connections = MOST_CONNECTIONS,
    connectionsOfAddress = connections / 2,
    proxies = LOOPBACK_PROXIES,
  } = options;
  const open = new Map<string, number>();
  return (socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || proxies.isOne(remoteAddress)) return;
    const address = toCallerAddress(remoteAddress);
    const count = (open.get(address) ?? 0) + 1;
    if (count > connectionsOfAddress) return void socket.destroy();
    open.set(address, count);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
  };
}

/** Whoever comes after these is cut off: each holds memory, whether it asks for anything or not. */
const MOST_CONNECTIONS = 10_000;

const HOST = 'host';

/** Proxies in front may have looked at the other one. */
function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === HOST.length && name.toLowerCase() === HOST) hosts += 1;
  }
  return hosts > 1;
}

function refuse(response: ServerResponse): void {
  const body = { code: 'invalid_request', message: 'The request has two Host headers. Send one.' };
  response.writeHead(400, { 'content-type': 'application/json; charset=utf-8', connection: 'close' });
  response.end(JSON.stringify(body));
}

/**
 * An answer that is made waits in memory for whoever does not read it. The server's own limit takes this one's place once
 * all is sent.
 */
function limitStall({ socket }: ServerResponse, ms: number): void {
  if (socket && socket.writableLength > 0) socket.setTimeout(ms);
}

/** Such as one below 1024, for anyone but root. */
function portUnusable(port: number, cause: NodeJS.ErrnoException): Error {
  return Object.assign(new Error(`Port ${port} cannot be used: ${cause.message}.`, { cause }), {
    code: 'port_unusable',
  });
}
