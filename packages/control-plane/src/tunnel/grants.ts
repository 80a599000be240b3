import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** What lets the box of an installation attach. It lies in the token itself, so a control plane that restarts knows it. */
export interface Grant {
  installationId: string;
  holder: Holder;
  /** 96 random bits: the first label of the host. */
  name: string;
  /** Milliseconds since 1970. */
  issuedAt: number;
  expiresAt: number;
}

/** Who opened it, and with what: a tunnel is good while both are. */
export interface Holder {
  userId: string;
  /** Of the session of a browser, or that of a command line. */
  credentialId: string;
}

export interface Grants {
  sign(grant: Grant): string;
  /** Undefined: it is no token of ours. Whether it is good still is not asked here. */
  open(token: string): Grant | undefined;
}

export function createGrants(key: Uint8Array): Grants {
  const toMac = (payload: string): Buffer => createHmac('sha256', key).update(`tunnel of a holder ${payload}`).digest();
  return {
    sign({ installationId, holder: { userId, credentialId }, name, issuedAt, expiresAt }) {
      const list: GrantList = [installationId, userId, credentialId, name, issuedAt, expiresAt];
      const payload = Buffer.from(JSON.stringify(list)).toString('base64url');
      return `${payload}.${toMac(payload).toString('base64url')}`;
    },
    open(token) {
      const [, payload = '', mac = ''] = TOKEN.exec(token) ?? [];
      const given = Buffer.from(mac, 'base64url');
      const own = toMac(payload);
      if (given.length !== own.length || !timingSafeEqual(given, own)) return undefined;
      const [installationId, userId, credentialId, name, issuedAt, expiresAt] = JSON.parse(
        Buffer.from(payload, 'base64url').toString(),
      ) as GrantList;
      return { installationId, holder: { userId, credentialId }, name, issuedAt, expiresAt };
    },
  };
}

export function newName(): string {
  return randomBytes(12).toString('hex');
}

/** Whether a label could be one of a tunnel: any other host is none. */
export function isName(label: string): boolean {
  return NAME.test(label);
}

// --- internal ---

type GrantList = [
  installationId: string,
  userId: string,
  credentialId: string,
  name: string,
  issuedAt: number,
  expiresAt: number,
];

const NAME = /^[\da-f]{24}$/;
const TOKEN = /^([\w-]{1,512})\.([\w-]{43})$/;
