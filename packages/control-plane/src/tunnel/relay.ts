import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { Log } from '../../../runtime/src/log.ts';
import { PlaneError } from '../errors.ts';
import { openAttachment } from './attachment.ts';
import type { Attachment } from './attachment.ts';
import { createGrants, isName, newName } from './grants.ts';
import { coalesce } from './coalesce.ts';
import type { Grant } from './grants.ts';
import { CLOSED, RELAY_LIMITS } from './limits.ts';
import type { RelayLimits } from './limits.ts';
import { pass } from './pass.ts';
import { requireRoom } from './room.ts';
import { readToken, refuseUpgrade, SUBPROTOCOL } from './upgrade.ts';

/** Where boxes of developers are reached from outside: each has one connection to here, over which it is asked. */
export interface Relay {
  /** A tunnel for an installation; one that it had is over. Throws `tunnel_unavailable`. */
  create(tunnel: Pick<Grant, 'installationId' | 'holder'>): CreatedTunnel;
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
  limits?: Partial<RelayLimits>;
}

/** `ended`: there is no installation any more. `revoked`: who opened it may no more, or is signed out. */
export type End = 'ended' | 'revoked';

export function createRelay(options: RelayOptions): Relay {
  const { now, log, publicUrl, domain, addressOf, findEnds = async () => new Map<Grant, End>() } = options;
  const limits = { ...RELAY_LIMITS, ...options.limits };
  const grants = createGrants(options.key);
  /** The newest tunnel of each installation, as far as this process knows. */
  const newest = new Map<string, Grant>();
  const attached = new Map<string, { grant: Grant; attachment: Attachment }>();
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: limits.frame,
    perMessageDeflate: false,
    clientTracking: false,
    handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  });

  const look = (): void => {
    for (const [id, { expiresAt }] of newest) if (expiresAt <= now()) newest.delete(id);
    for (const { grant, attachment } of attached.values())
      if (grant.expiresAt <= now()) attachment.close(CLOSED.expired, 'expired');
  };

  const detach = (name: string, code: number, reason: string): void => {
    attached.get(name)?.attachment.close(code, reason);
    attached.delete(name);
  };
  const cut = async (held: readonly Grant[]): Promise<void> => {
    try {
      for (const [{ name }, end] of await findEnds(held)) detach(name, CLOSED[end], end);
    } catch (error) {
      log.warn('Whether the tunnels are still good could not be read. It is asked again in a moment.', { error });
    }
  };
  const check = coalesce(() => cut([...attached.values()].map(({ grant }) => grant)));
  const timers = [setInterval(look, limits.beatMs), setInterval(() => void check(), limits.checkMs)];
  for (const timer of timers) timer.unref();
  const renew = (grant: Grant): void => {
    const before = newest.get(grant.installationId);
    newest.set(grant.installationId, grant);
    if (before && before.name !== grant.name) detach(before.name, CLOSED.replaced, 'replaced');
  };
  const requireGood = async (request: IncomingMessage): Promise<Grant> => {
    if (nameOf(request.headers.host) !== undefined)
      throw new PlaneError('invalid_request', 'A tunnel carries requests and answers alone, no WebSocket.');
    if (request.url?.split('?', 1)[0] !== RELAY_PATH)
      throw new PlaneError('not_found', `There is no WebSocket at ${request.url ?? '/'}.`);
    const token = readToken(request);
    const grant = token === undefined ? undefined : grants.open(token);
    if (!grant) throw new PlaneError('unauthorized', 'The token is none of a tunnel.');
    if (grant.expiresAt <= now()) throw new PlaneError('tunnel_expired', 'The tunnel has ended. Open another one.');
    const end = (await findEnds([grant])).get(grant);
    if (end !== undefined) throw toRefusal(grant, end);
    const latest = newest.get(grant.installationId);
    if (latest && latest.name !== grant.name && latest.issuedAt >= grant.issuedAt)
      throw new PlaneError('tunnel_replaced', 'The installation has another tunnel by now.');
    return grant;
  };
  const accept = (grant: Grant, request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const open = [...attached.values()].map((one) => one.grant);
    requireRoom(grant, open, limits);
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      renew(grant);
      // Of a box that comes back before its last connection is known to be lost.
      detach(grant.name, CLOSED.replaced, 'replaced');
      const attachment = openAttachment(webSocket, {
        limits,
        log,
        onClosed: () => attached.get(grant.name)?.attachment === attachment && attached.delete(grant.name),
      });
      attached.set(grant.name, { grant, attachment });
      // What was asked before the connection was taken over may be over by now.
      void cut([grant]);
    });
  };
  const nameOf = (host?: string) => readName(host, domain);

  return {
    check,
    create({ installationId, holder }) {
      requireDomain(publicUrl(), domain);
      const issuedAt = Math.max(now(), (newest.get(installationId)?.issuedAt ?? 0) + 1);
      const grant = { installationId, holder, name: newName(), issuedAt, expiresAt: now() + limits.lifetimeMs };
      renew(grant);
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
      void requireGood(request)
        .then((grant) => accept(grant, request, socket, head))
        .catch((error: unknown) => refuseUpgrade(socket, error, log));
    },
    handle(request, response) {
      const { host } = request.headers;
      const name = nameOf(host);
      if (name === undefined) return false;
      const found = attached.get(name);
      if (found && found.grant.expiresAt <= now()) detach(name, CLOSED.expired, 'expired');
      const proto = publicUrl().startsWith('https:') ? 'https' : 'http';
      pass(attached.get(name)?.attachment, [request, response], {
        address: addressOf(request),
        proto,
        host: host ?? '',
      });
      return true;
    },
    async close() {
      for (const timer of timers) clearInterval(timer);
      for (const name of attached.keys()) detach(name, GOING_AWAY, 'closing');
      sockets.close();
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

function toRefusal({ installationId }: Grant, end: End): PlaneError {
  if (end === 'ended') return new PlaneError('not_found', `There is no installation "${installationId}".`);
  return new PlaneError('tunnel_revoked', 'Who opened the tunnel is signed out, or may not have one any more.');
}

/** The box comes back to it, once there is one again. */
const GOING_AWAY = 1001;

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
    'This control plane has no domain for tunnels. Whoever runs it sets PLANE_TUNNEL_DOMAIN.',
  );
}
