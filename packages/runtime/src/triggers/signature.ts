import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

export const SCHEME_NAMES = [
  'standard-webhooks',
  'github',
  'stripe',
  'slack',
  'shopify',
  'gitlab',
  'linear',
  'twilio',
  'hmac',
  'token',
  'basic',
] as const;
export type SchemeName = (typeof SCHEME_NAMES)[number];

const header = z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'A header has letters, digits and "-"');

/** How a trigger knows its sender. */
export const Signature = z.strictObject({
  scheme: z.enum(SCHEME_NAMES),
  header: header.optional().describe('hmac, token: where the signature or the token is'),
  algorithm: z.enum(['sha256', 'sha512']).optional().describe('hmac. Default: sha256'),
  encoding: z.enum(['hex', 'base64']).optional().describe('hmac. Default: hex'),
  prefix: z
    .string()
    .regex(/^[\u0020-\u007e]{0,50}$/, 'At most 50 characters of ASCII')
    .optional()
    .describe('hmac, token: what comes before it, such as "sha256=". Default: nothing'),
  timestampHeader: header
    .optional()
    .describe('hmac: the time at which it was sent, which is signed with the body as "<time>.<body>"'),
  username: z
    .string()
    .regex(/^[\u0020-\u0039\u003b-\u007e]{1,100}$/, '1 to 100 characters of ASCII without ":"')
    .optional()
    .describe('basic: whose password the secret is'),
  windowSeconds: z
    .int()
    .min(10)
    .max(3_600)
    .optional()
    .describe('How far the time of a signature may be from now. Default: 300'),
});
export type Signature = z.infer<typeof Signature>;

/** A request as its signature is looked at. */
export interface SignedRequest {
  headers: Headers;
  body: Buffer;
  /** As its sender has it, with the query. */
  url: string;
}

/** In what it is compared in. */
export interface Comparing {
  secret: string;
  signature: Signature;
  /** Seconds since 1970. */
  now: number;
}

/** Takes the same time however much of both is the same. */
export function isSame(given: string, wanted: string): boolean {
  return timingSafeEqual(digest(given), digest(wanted));
}

export function hmac(
  secret: string | Buffer,
  parts: readonly (string | Buffer)[],
  { algorithm = 'sha256', encoding = 'hex' }: { algorithm?: string; encoding?: 'hex' | 'base64' } = {},
): string {
  const signing = createHmac(algorithm, secret);
  for (const part of parts) signing.update(part);
  return signing.digest(encoding);
}

/** Whether such a time is near enough. Seconds, or milliseconds, since 1970. */
export function isTimely(time: string, { now, signature }: Comparing): boolean {
  if (!/^\d{9,14}$/.test(time)) return false;
  const seconds = Number(time) > LATEST_SECONDS ? Number(time) / 1_000 : Number(time);
  return Math.abs(seconds - now) <= (signature.windowSeconds ?? WINDOW_SECONDS);
}

/** How long a signature with a time is good, in seconds, and for how long the same body counts as sent again. */
export const WINDOW_SECONDS = 300;

// --- internal ---

/** In the year 5138; in milliseconds it was 1973. */
const LATEST_SECONDS = 100_000_000_000;

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
