/** A key that speaks for users, as `POST /api/keys` answered when it was made. */
export interface UserTokenKey {
  id: string;
  userSecret: string;
}

/** What a user token says. */
export interface UserTokenClaims {
  /** What you call the person: 1 to 256 visible characters. */
  sub: string;
  name?: string;
  /** What your agents and workflows read as `context.user.data`: at most 4 KiB of JSON. */
  data?: Record<string, unknown>;
  /** Of the agents the key is granted, those this token is for. Default: all. */
  agents?: string[];
  /** The same of its workflows. */
  workflows?: string[];
  /** Seconds for which it is good: at most 3,600. Default: 900. */
  expiresIn?: number;
}

/**
 * A token for one end user, to be handed to their browser or app; it is sent as `Authorization: Bearer <token>`. For
 * servers: whoever holds the `userSecret` speaks for every user of the client.
 */
export async function signUserToken(
  { id, userSecret }: UserTokenKey,
  { expiresIn = 900, ...claims }: UserTokenClaims,
): Promise<string> {
  if (!(expiresIn > 0 && expiresIn <= 3_600))
    throw new TypeError(`"expiresIn" is ${expiresIn}. A user token is good for 1 to 3,600 seconds.`);
  const iat = Math.floor(Date.now() / 1_000);
  const header = toPart(encode(JSON.stringify({ alg: 'HS256', typ: 'svc-user+jwt', kid: id })));
  const payload = toPart(encode(JSON.stringify({ ...claims, iat, exp: iat + Math.ceil(expiresIn) })));
  const secret = Uint8Array.from(atob(userSecret), (one) => one.charCodeAt(0));
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', secret, algorithm, false, ['sign']);
  const signature = await crypto.subtle.sign('HMAC', key, encode(`${header}.${payload}`));
  return `${header}.${payload}.${toPart(new Uint8Array(signature))}`;
}

// --- internal ---

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/** In base64url. */
function toPart(bytes: Uint8Array): string {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
