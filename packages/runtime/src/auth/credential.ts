import { createHash, randomBytes } from 'node:crypto';
import { BoxError } from '../errors.ts';

/** What a request carries to be let in. */
export interface Credential {
  value: string;
  /** False: it came as `x-api-key`, which takes an API key alone. */
  isBearer: boolean;
}

/** From either header. */
export function readCredential(headers: Headers): Credential | undefined {
  return listCredentials(headers)[0];
}

/** What both headers carry, what looks like an API key first; throws `unauthorized` where there is nothing. */
export function needCredentials(headers: Headers): Credential[] {
  const credentials = listCredentials(headers);
  if (credentials.length > 0)
    return credentials.toSorted((a, b) => Number(isApiKey(b.value)) - Number(isApiKey(a.value)));
  throw new BoxError('unauthorized', 'No API key. Send it as "Authorization: Bearer <key>" or "x-api-key: <key>".');
}

/**
 * A new API key: its id, which sorts by time, and the value, which is shown once. The value ends in a checksum, by which
 * whoever looks for keys in text tells one from what only looks like it.
 */
export function newKey(): { id: string; value: string } {
  const id = Date.now().toString(16).padStart(12, '0') + randomBytes(4).toString('hex');
  const text = `${KEY_PREFIX}${id}_${randomBytes(32).toString('base64url')}`;
  return { id, value: text + checksumOf(text) };
}

export function isApiKey(credential: string): boolean {
  return credential.startsWith(KEY_PREFIX);
}

/** The id in the value of a key; undefined: no box has made it. */
export function keyIdOf(value: string): string | undefined {
  const [, text = '', id, checksum] = KEY.exec(value) ?? [];
  return checksum === undefined || checksum === checksumOf(text) ? id : undefined;
}

/** What is stored of a key, in hex. */
export function digestOfKey(value: string): string {
  return createHash('sha256').update(value).digest('hex');
}

export const KEY_PREFIX = 'svc_';

// --- internal ---

function listCredentials(headers: Headers): Credential[] {
  const bearer = /^bearer\s+(\S.*)$/i.exec(headers.get('authorization') ?? '')?.[1]?.trim() ?? '';
  const apiKey = headers.get('x-api-key')?.trim() ?? '';
  return [
    ...(bearer === '' ? [] : [{ value: bearer, isBearer: true }]),
    ...(apiKey === '' || apiKey === bearer ? [] : [{ value: apiKey, isBearer: false }]),
  ];
}

/** Without a checksum, one from before there was any. */
const KEY = /^(svc_([\da-f]{20})_[\w-]{43})([\da-f]{8})?$/;

function checksumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
