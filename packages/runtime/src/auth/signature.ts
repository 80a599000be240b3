import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { BoxError } from '../errors.ts';
import type { UsedOnce } from '../stores/used-once.ts';

export const SIGNATURE_HEADER = 'x-svc-signature';

/** A call the control plane has signed. */
export interface SignedCall {
  method: string;
  /** Path and query, as they were sent. */
  path: string;
  body: Buffer;
  /** Of `SIGNATURE_HEADER`: `t=<seconds since 1970>,n=<16 bytes in hex>,v1=<HMAC-SHA256 in hex>`. */
  header: string | null;
}

/**
 * Throws `invalid_signature`, the same for whatever is wrong: the form, the secret, a time more than 60 s away, a
 * nonce that was used.
 */
export async function checkSignature(call: SignedCall, secret: string, nonces: UsedOnce): Promise<void> {
  const [, time = '', nonce = '', given = ''] = HEADER.exec(call.header ?? '') ?? [];
  const isGiven = given !== '';
  const expected = signCall({ ...call, time, nonce }, secret);
  // Compared whatever the form, so that the time taken reveals nothing.
  const isSame = timingSafeEqual(expected, isGiven ? Buffer.from(given, 'hex') : Buffer.alloc(expected.length));
  const isNear = Math.abs(Date.now() / 1_000 - Number(time)) <= WINDOW_S;
  // Last: a nonce is used up by the holder of the secret alone.
  if (isGiven && isSame && isNear && (await nonces.use(nonce, NONCE_MS))) return;
  throw new BoxError('invalid_signature', 'The signature of this call is not valid.');
}

/** HMAC-SHA256 over `t.n.METHOD.path?query.sha256(body)`. */
export function signCall(call: SignedFields, secret: string): Buffer {
  const digest = createHash('sha256').update(call.body).digest('hex');
  return hmac(secret, [call.time, call.nonce, call.method, call.path, digest].join('.'));
}

/** What proves to the control plane that this box holds the secret. */
export function toProof(secret: string, nonce: string, installationId: string): string {
  return hmac(secret, nonce + installationId).toString('hex');
}

// --- internal ---

type SignedFields = Pick<SignedCall, 'method' | 'path' | 'body'> & { time: string; nonce: string };

const HEADER = /^t=(\d{1,12}),n=([\da-f]{32}),v1=([\da-f]{64})$/;
const WINDOW_S = 60;
const NONCE_MS = 120_000;

function hmac(secret: string, text: string): Buffer {
  return createHmac('sha256', secret).update(text).digest();
}
