import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { CryptoKey, JWK } from 'jose';
import { createIdentityTokens, keySetUrl } from '../src/auth/identity-tokens.ts';
import { createKeySet } from '../src/auth/key-set.ts';
import type { Role } from '../src/auth/permissions.ts';
import { signCall } from '../src/auth/signature.ts';
import { identityTokens } from '../src/auth/strategy.ts';
import type { Strategy } from '../src/auth/strategy.ts';
import type { Log } from '../src/log.ts';

/** What a token says; `undefined` leaves a claim out. */
export type Claims = Record<string, unknown>;

export interface MintOptions {
  claims?: Claims;
  header?: Record<string, unknown>;
  /** Another key than the one the control plane signs with. */
  key?: CryptoKey;
}

/** A control plane as a box sees it: keys at an address, and tokens signed with them. */
export interface Plane {
  /** Issuer, without a slash at the end. */
  url: string;
  installationId: string;
  keys: JWK[];
  /** How often the keys were asked for. */
  asked(): number;
  /** While set, the keys cannot be read. */
  isDown: boolean;
  /** A good token for this role, unless something is changed. */
  mint(role: Role | string, options?: MintOptions): Promise<string>;
  /** Adds a key to the set; answers what signs with it. */
  addKey(alg: string, kid: string): Promise<CryptoKey>;
  strategy(options: { log: Log; now?: () => number }): Strategy;
  close(): Promise<void>;
}

export const KEY_ID = 'key-1';

export async function startPlane(): Promise<Plane> {
  const keys: JWK[] = [];
  let asked = 0;
  const server = createServer((req, res) => {
    asked += 1;
    if (plane.isDown || req.url !== '/.well-known/jwks.json') return res.writeHead(503).end();
    return res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const addKey = async (alg: string, kid: string): Promise<CryptoKey> => {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    keys.push({ ...(await exportJWK(publicKey)), kid, alg, use: 'sig' });
    return privateKey;
  };
  const signing = await addKey('EdDSA', KEY_ID);
  const plane: Plane = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    installationId: randomUUID(),
    keys,
    asked: () => asked,
    isDown: false,
    addKey,
    async mint(role, { claims = {}, header = {}, key = signing } = {}) {
      const now = Math.floor(Date.now() / 1_000);
      const payload = {
        iss: plane.url,
        aud: `${plane.url}/box`,
        sub: `user-${role}`,
        name: `Person who is ${role}`,
        org: 'acme',
        inst: plane.installationId,
        role,
        src: 'cli',
        jti: randomUUID(),
        iat: now,
        exp: now + 300,
        ...claims,
      };
      return new SignJWT(payload)
        .setProtectedHeader({ alg: 'EdDSA', kid: KEY_ID, typ: 'svc-identity+jwt', ...header })
        .sign(key);
    },
    strategy({ log, now = Date.now }) {
      const set = createKeySet({ url: keySetUrl(plane.url), log, now });
      const { url: issuer, installationId } = plane;
      return identityTokens(createIdentityTokens({ issuer, installationId, keys: set, now }));
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return plane;
}

export interface SignOptions {
  secret: string;
  method?: string;
  path: string;
  body: string;
  /** Seconds since 1970. */
  time?: number;
  /** 16 bytes in hex. */
  nonce?: string;
}

/** The header of a call the control plane signs. */
export function signatureOf({ secret, method = 'POST', path, body, ...given }: SignOptions): string {
  const time = String(given.time ?? Math.floor(Date.now() / 1_000));
  const nonce = given.nonce ?? randomBytes(16).toString('hex');
  const signed = signCall({ method, path, body: Buffer.from(body), time, nonce }, secret);
  return `t=${time},n=${nonce},v1=${signed.toString('hex')}`;
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
