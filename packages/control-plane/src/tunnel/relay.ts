import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { Log } from '../../../runtime/src/log.ts';
import { PlaneError } from '../errors.ts';
import { createForwarder, elsewhere } from './forward.ts';
import { createGrants, isName, newName } from './grants.ts';
import type { Grant } from './grants.ts';
import { findFault } from './headers.ts';
import type { Outside } from './headers.ts';
import { RELAY_LIMITS } from './limits.ts';
import type { RelayLimits } from './limits.ts';
import { createOpenTunnels } from './open-tunnels.ts';
import type { End } from './open-tunnels.ts';
import { pass, refuse } from './pass.ts';
import { createPassing, PASSED_HEADER } from './passed.ts';
import { createOwnRegistry } from './registry.ts';
import type { Held, Registry } from './registry.ts';
import { requireRoom } from './room.ts';
import { readToken, refuseUpgrade, SUBPROTOCOL } from './upgrade.ts';

/** Where boxes of developers are reached from outside: each has one connection to here, over which it is asked. */
export interface Relay {
  /** A tunnel for an installation; one that it had is over. Throws `tunnel_unavailable`. */
  create(tunnel: Pick<Grant, 'installationId' | 'holder'>): Promise<CreatedTunnel>;
  /** Takes over the connection of a box that shows a token; any other is refused. */
  attach(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Whether the request is for the host of a tunnel: then it is answered. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
  /** Ends the tunnels that are good no more, as every second. Answers once they are ended. */
  check(): Promise<void>;
  close(): Promise<void>;
}

export interface CreatedTunnel {
  name: string;
  token: string;
  publicUrl: string;
  relayUrl: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

export interface RelayOptions {
  now(): number;
  log: Log;
  /** Of the control plane, without a slash at the end. */
  publicUrl(): string;
  /** Of which tunnels get names. */
  domain: string;
  /** Signs the tokens: the same after a restart. */
  key: Uint8Array;
  /** Who asks, as proxies are trusted. */
  addressOf(request: IncomingMessage): string | undefined;
  /** Which of the grants are good no more, and why. Default: none. */
  findEnds?(grants: readonly Grant[]): Promise<ReadonlyMap<Grant, End>>;
  /** Default: this control plane is the only one. */
  registry?: Registry;
  limits?: Partial<RelayLimits>;
}

export function createRelay(options: RelayOptions): Relay {
  const { now, log, publicUrl, domain, addressOf, findEnds = async () => new Map<Grant, End>() } = options;
  const limits = { ...RELAY_LIMITS, ...options.limits };
  const { registry = createOwnRegistry(now) } = options;
  const grants = createGrants(options.key);
  const passing = createPassing(options.key, now);
  const forwarder = createForwarder(log);
  const tunnels = createOpenTunnels({ now, log, limits, registry, findEnds });
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: limits.frame,
    perMessageDeflate: false,
    clientTracking: false,
    handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  });
  const nameOf = (host?: string) => readName(host, domain);

  const requireGood = async (request: IncomingMessage, socket: Duplex): Promise<Held> => {
    if (nameOf(request.headers.host) !== undefined)
      throw new PlaneError('invalid_request', 'A tunnel carries requests and answers alone, no WebSocket.');
    if (request.url?.split('?', 1)[0] !== RELAY_PATH)
      throw new PlaneError('not_found', `There is no WebSocket at ${request.url ?? '/'}.`);
    const token = readToken(request);
    const grant = token === undefined ? undefined : grants.open(token);
    if (!grant) throw new PlaneError('unauthorized', 'The token is not that of a tunnel.');
    if (grant.expiresAt <= now()) throw new PlaneError('tunnel_expired', 'The tunnel has ended. Open another one.');
    const end = (await findEnds([grant])).get(grant);
    if (end !== undefined) throw toRefusal(grant, end);
    requireRoom(grant, tunnels.list(), limits);
    // A box that has given up is at another control plane by now, which must not lose it.
    requireConnected(socket);
    const held = await registry.take(grant);
    if (!held) throw new PlaneError('tunnel_replaced', 'The installation has another tunnel by now.');
    return held;
  };
  const accept = (held: Held, request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    try {
      // While the store was asked others may have come.
      requireRoom(held.grant, tunnels.list(), limits);
      requireConnected(socket);
      sockets.handleUpgrade(request, socket, head, (webSocket) => tunnels.add(held, webSocket));
    } catch (error) {
      tunnels.leave(held);
      throw error;
    }
  };
  /** Of a tunnel that is not open here. */
  const passElsewhere = async (name: string, asked: Asked, outside: Outside): Promise<void> => {
    const holder = await registry.findHolder(name);
    // The client may have disconnected meanwhile, and there is no second event for that.
    if (asked[1].destroyed) return;
    if (!holder) return pass(undefined, asked, outside);
    const fault = findFault(asked[0]);
    if (fault !== undefined) return refuse(asked, new PlaneError('invalid_request', fault));
    if (holder.url === undefined) return refuse(asked, elsewhere());
    await forwarder.pass(holder.url, asked, passing.sign(name, outside));
  };
  return {
    check: tunnels.check,
    async create({ installationId, holder }) {
      requireDomain(publicUrl(), domain);
      const made = { installationId, holder, name: newName(), expiresAt: now() + limits.lifetimeMs };
      const grant = { ...made, issuedAt: await registry.add(made) };
      tunnels.replace(grant);
      return {
        name: grant.name,
        token: grants.sign(grant),
        publicUrl: toPublicUrl(publicUrl(), grant.name, domain),
        relayUrl: `${publicUrl().replace(/^http/, 'ws')}${RELAY_PATH}`,
        expiresAt: grant.expiresAt,
      };
    },
    attach(request, socket, head) {
      // Its end may come while the store is asked.
      socket.on('error', () => {});
      void requireGood(request, socket)
        .then((held) => accept(held, request, socket, head))
        .catch((error: unknown) => refuseUpgrade(socket, error, log));
    },
    handle(request, response) {
      const { host } = request.headers;
      const name = nameOf(host);
      if (name === undefined) return false;
      const proto = publicUrl().startsWith('https:') ? 'https' : 'http';
      const passed = passing.open(name, request.headers[PASSED_HEADER]);
      const outside = { address: passed ? passed.address : addressOf(request), proto, host: host ?? '' } as const;
      const attachment = tunnels.find(name);
      // What another control plane has passed on is here, or nowhere.
      if (attachment || passed) pass(attachment, [request, response], outside);
      else
        passElsewhere(name, [request, response], outside).catch((error: unknown) => {
          log.warn('The location of a tunnel could not be read.', { error });
          refuse([request, response], unknown());
        });
      return true;
    },
    async close() {
      tunnels.close();
      sockets.close();
      forwarder.close();
      await registry
        .close()
        .catch((error: unknown) =>
          log.warn('The end of all tunnels of this process could not be recorded.', { error }),
        );
    },
  };
}

/** Where boxes attach. */
export const RELAY_PATH = '/api/v1/tunnel';

// --- internal ---

/** Undefined: the host is none of a tunnel. */
function readName(host = '', domain: string): string | undefined {
  const name = host.toLowerCase().replace(/\.?(?::\d+)?$/, '');
  const label = name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1) : '';
  return isName(label) ? label : undefined;
}

function requireConnected(socket: Duplex): void {
  if (socket.destroyed) throw new PlaneError('tunnel_closed', 'The connection has gone.');
}

function toRefusal({ installationId }: Grant, end: End): PlaneError {
  if (end === 'ended') return new PlaneError('not_found', `There is no installation "${installationId}".`);
  return new PlaneError(
    'tunnel_revoked',
    'The person who opened the tunnel is signed out, or may not have one any more.',
  );
}

type Asked = [request: IncomingMessage, response: ServerResponse];

function unknown(): PlaneError {
  return new PlaneError('store_unavailable', 'The store of the control plane does not answer. Try again in a moment.', {
    headers: { 'retry-after': '1' },
  });
}

function toPublicUrl(planeUrl: string, name: string, domain: string): string {
  const url = new URL(planeUrl);
  return `${url.protocol}//${name}.${domain}${url.port === '' ? '' : `:${url.port}`}`;
}

/** Names of "localhost" lead to whoever asks: they are of use to a control plane on the same machine alone. */
function requireDomain(planeUrl: string, domain: string): void {
  const { hostname } = new URL(planeUrl);
  if (domain !== 'localhost' || /^(?:127\.\d+\.\d+\.\d+|\[::1\]|(?:.+\.)?localhost)$/.test(hostname)) return;
  throw new PlaneError(
    'tunnel_unavailable',
    'This control plane has no domain for tunnels. Its administrator has to set PLANE_TUNNEL_DOMAIN.',
  );
}
