import { hkdfSync } from 'node:crypto';
import { z } from 'zod';
import { findAsker } from '../../../runtime/src/http/address.ts';
import { entryOf } from '../audit/audit.ts';
import type { Audit } from '../audit/audit.ts';
import type { FullGround } from '../ground.ts';
import { route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { requireInstallation } from '../installations/routes.ts';
import type { Access } from '../organizations/access.ts';
import type { Db } from '../store/db.ts';
import { findEnds } from './ends.ts';
import { createRelay } from './relay.ts';
import type { Relay } from './relay.ts';
import { createSharedRegistry } from './shared-registry.ts';

/** The relay of a control plane. */
export function createPlaneRelay({ db, full, settings, log, now, publicUrl }: FullGround): Relay {
  const { secretKey, tunnelDomain: domain } = full;
  return createRelay({
    now,
    log,
    publicUrl,
    domain,
    key: new Uint8Array(hkdfSync('sha256', Buffer.from(secretKey, 'base64'), '', 'svc tunnel tokens', 32)),
    findEnds: (grants) => findEnds(db, grants, now()),
    // A file has one control plane, which need not ask it.
    ...(db.dialect === 'postgres' ? { registry: createSharedRegistry({ db, now, url: full.internalUrl }) } : {}),
    addressOf({ socket, headers }) {
      const forwarded = headers['x-forwarded-for'];
      const given = Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? null);
      return socket.remoteAddress && findAsker(socket.remoteAddress, given, settings.proxies);
    },
  });
}

export interface TunnelRoutes {
  db: Db;
  access: Access;
  audit: Audit;
  relay: Relay;
  publicUrl(): string;
}

export function tunnelRoutes({ db, access, audit, relay, publicUrl }: TunnelRoutes): Route[] {
  return [
    route({
      id: 'installations.tunnel',
      tag: 'installations',
      access: 'person',
      method: 'POST',
      path: '/api/v1/installations/:id/tunnel',
      summary: 'Open a tunnel to a box under development; one that the installation had is over',
      status: 201,
      answer: TunnelAnswer,
      errors: ['forbidden', 'not_found', 'tunnel_unavailable'],
      async handle(call, { params: { id = '' } }) {
        const account = call.account();
        const { name, organizationId } = await requireInstallation({ db, access }, account, id, 'tunnels:open');
        const { userId, credentialId } = account;
        const tunnel = await relay.create({ installationId: id, holder: { userId, credentialId } });
        await audit.record(
          entryOf(call, { organizationId, action: 'installations.tunnel', target: `${name} (${id})` }),
        );
        return {
          ...tunnel,
          expiresAt: new Date(tunnel.expiresAt).toISOString(),
          deeplink: `${publicUrl()}/studio/?installation=${id}`,
        };
      },
    }),
  ];
}

/**
 * The same routes: whatever a write has ended, no tunnel of it is open any more when it is answered.
 * `countEnding`: how many statements there were by which a tunnel may be over.
 */
export function cutAfterWrites(
  routes: readonly Route[],
  relay: Pick<Relay, 'check'>,
  countEnding: () => number,
): Route[] {
  return routes.map((one) => {
    if (one.method === 'GET') return one;
    const handle: Route['handle'] = async (call, input) => {
      const before = countEnding();
      try {
        return await one.handle(call, input);
      } finally {
        // A refusal may have ended something, too, such as a session whose token was used twice.
        if (countEnding() > before) await relay.check();
      }
    };
    return { ...one, handle };
  });
}

// --- internal ---

const TunnelAnswer = z.object({
  name: z.string(),
  token: z.string(),
  publicUrl: z.url(),
  relayUrl: z.url(),
  expiresAt: z.iso.datetime(),
  deeplink: z.url(),
});
