import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { cookieName, formatCookie, readCookie } from '../http/cookies.ts';
import type { Call } from '../http/route.ts';

/**
 * Who has shown the token. The cookie itself is the session, sealed with a key made of the token: nothing is stored, and
 * another token opens none of those that were given before.
 */
export interface OperatorSessions {
  /** A new one, whatever cookie the request had. */
  open(call: Call): void;
  /** Whether the request's cookie is good. It is good for another 12 hours from here on, and for 7 days at most. */
  find(call: Call): boolean;
  /** Ends that of the request's cookie, if it has one, and removes the cookie. */
  end(call: Call): void;
}

export interface OperatorSessionsOptions {
  token: string;
  publicUrl(): string;
}

export function createOperatorSessions({ token, publicUrl }: OperatorSessionsOptions): OperatorSessions {
  const key = Buffer.from(hkdfSync('sha256', token, '', 'svc control plane: sessions of the operator', 32));
  // A sealed cookie stays whole after it was ended, so this process remembers it for as long as it could be shown again.
  const ended = new LRUCache<string, true>({ max: MOST_ENDED });
  // A page asks many times with the same cookie: what is in one never changes.
  const opened = new LRUCache<string, Session>({ max: MOST_OPENED });
  const openOnce = (cookie: string): Session | undefined => {
    const session = opened.get(cookie) ?? openSession(key, cookie);
    if (session) opened.set(cookie, session);
    return session;
  };
  const isSecure = () => publicUrl().startsWith('https:');
  const setCookie = (call: Call, value: string, maxAge: number) =>
    call.setHeader('set-cookie', formatCookie(value, { isSecure: isSecure(), maxAge }));
  const give = (call: Call, session: Session) =>
    setCookie(call, sealSession(key, session), Math.ceil((expiryOf(session) - call.now) / 1_000));
  const read = (call: Call): Session | undefined => {
    const session = openOnce(readCookie(call.request.headers, cookieName(isSecure())) ?? '');
    if (!session || ended.has(session.id) || call.now >= expiryOf(session)) return undefined;
    return session;
  };
  return {
    open: (call) => give(call, { id: randomBytes(ID_BYTES).toString('hex'), startedAt: call.now, seenAt: call.now }),
    find(call) {
      const session = read(call);
      if (!session) return false;
      if (call.now - session.seenAt >= RESOLUTION) give(call, { ...session, seenAt: call.now });
      return true;
    },
    end(call) {
      const session = read(call);
      if (session) ended.set(session.id, true);
      setCookie(call, '', 0);
    },
  };
}

// --- internal ---

interface Session {
  id: string;
  startedAt: number;
  seenAt: number;
}

const HOUR = 3_600_000;
const SLIDING = 12 * HOUR;
const HARD = 7 * 24 * HOUR;
/** How often a session that is in use gets another cookie. */
const RESOLUTION = 60_000;
const MOST_ENDED = 10_000;
const MOST_OPENED = 1_000;

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const ID_BYTES = 16;
const PLAIN_BYTES = ID_BYTES + 8 + 8;
/** So that a reader of one, or a scanner of logs, knows what it is. */
const PREFIX = 'svo_';
const COOKIE = new RegExp(`^${PREFIX}([\\w-]{${Math.ceil(((IV_BYTES + TAG_BYTES + PLAIN_BYTES) * 4) / 3)}})$`);

function expiryOf({ startedAt, seenAt }: Session): number {
  return Math.min(seenAt + SLIDING, startedAt + HARD);
}

function sealSession(key: Buffer, { id, startedAt, seenAt }: Session): string {
  const plain = Buffer.alloc(PLAIN_BYTES);
  plain.write(id, 'hex');
  plain.writeBigUInt64BE(BigInt(startedAt), ID_BYTES);
  plain.writeBigUInt64BE(BigInt(seenAt), ID_BYTES + 8);
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
  const data = Buffer.concat([cipher.update(plain), cipher.final()]);
  return `${PREFIX}${Buffer.concat([iv, cipher.getAuthTag(), data]).toString('base64url')}`;
}

/** Undefined: it was not sealed with this key, or was changed. */
function openSession(key: Buffer, cookie: string): Session | undefined {
  const [, text] = COOKIE.exec(cookie) ?? [];
  if (text === undefined) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    const plain = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
    return {
      id: plain.toString('hex', 0, ID_BYTES),
      startedAt: Number(plain.readBigUInt64BE(ID_BYTES)),
      seenAt: Number(plain.readBigUInt64BE(ID_BYTES + 8)),
    };
  } catch {
    return undefined;
  }
}
