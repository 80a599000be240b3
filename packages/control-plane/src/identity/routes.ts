import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { answerJson } from '../../../runtime/src/http/answer.ts';
import { entryOf } from '../audit/audit.ts';
import type { Audit } from '../audit/audit.ts';
import { route } from '../http/route.ts';
import type { Account, Route } from '../http/route.ts';
import { requireInstallation } from '../installations/routes.ts';
import type { Access } from '../organizations/access.ts';
import type { Db } from '../store/db.ts';
import type { Identity, Signer } from './signer.ts';

export interface IdentityRoutes {
  db: Db;
  access: Access;
  audit: Audit;
  signer: Signer;
}

/** The keys boxes check tokens with, and the tokens. */
export function identityRoutes({ db, access, audit, signer }: IdentityRoutes): Route[] {
  // Whoever works is given a token every few minutes: the log has the first of an hour.
  const recorded = new LRUCache<string, number>({ max: MOST_RECORDED });
  const isRecorded = (key: string, now: number) => now - (recorded.get(key) ?? -Infinity) < RECORD_EVERY_MS;
  return [
    route({
      id: 'keys.list',
      method: 'GET',
      path: '/.well-known/jwks.json',
      summary: 'List the keys that identity tokens are checked with',
      tag: 'identity',
      access: 'anyone',
      answer: z.object({ keys: z.array(PublicKey) }),
      handle: async () =>
        answerJson(200, { keys: await signer.listPublic() }, { 'cache-control': `public, max-age=${KEYS_MAX_AGE_S}` }),
    }),
    route({
      id: 'identity.mint',
      method: 'POST',
      path: '/api/v1/installations/:id/token',
      summary: 'Make a token for five minutes that the box of an installation accepts',
      tag: 'identity',
      access: 'person',
      body: z.strictObject({
        use: z.enum(['operate', 'mcp']).describe('`operate`: its routes. `mcp`: its MCP endpoint alone.'),
      }),
      answer: z.object({
        token: z
          .string()
          .describe('`exp` is 300 s after `iat`, which is 30 s before it was made: for a box whose clock is behind.'),
        expiresAt: z.iso
          .datetime()
          .describe('`exp`: 270 s from now. A box whose clock agrees takes the token for 30 s more.'),
      }),
      errors: ['forbidden', 'not_found'],
      async handle(call, { params: { id = '' }, body: { use } }) {
        const account = call.account();
        const { organizationId, name, role } = await requireInstallation(
          { db, access },
          account,
          id,
          'organization:read',
        );
        const { userId } = account;
        const source: Identity['source'] = use === 'mcp' ? 'mcp' : SOURCES[account.via];
        const identity = { userId, name: account.name, organizationId, installationId: id, role, use, source };
        const { token, expiresAt } = await signer.sign(identity);
        const key = [account.credentialId, id, use].join(' ');
        if (!isRecorded(key, call.now)) {
          const target = `${name} (${id}): ${use} as ${role}`;
          await audit.record(entryOf(call, { organizationId, action: 'identity.mint', target }));
          recorded.set(key, call.now);
        }
        return { token, expiresAt: new Date(expiresAt).toISOString() };
      },
    }),
  ];
}

// --- internal ---

const RECORD_EVERY_MS = 3_600_000;
const MOST_RECORDED = 10_000;
/** A key is in the set for 30 days before it signs. */
const KEYS_MAX_AGE_S = 300;
const SOURCES: Record<Account['via'], Identity['source']> = { session: 'dashboard', cli: 'cli', token: 'cli' };

const PublicKey = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string(),
  kid: z.string(),
  alg: z.literal('EdDSA'),
  use: z.literal('sig'),
});
