import { createHmac } from 'node:crypto';

/** The headers of the Standard Webhooks specification. */
export interface SignedHeaders extends Record<string, string> {
  'webhook-id': string;
  /** Seconds since 1970. */
  'webhook-timestamp': string;
  'webhook-signature': string;
}

/** Signs the message with every key: the receiver knows one of them. */
export function signMessage(message: { id: string; body: string; at: Date }, keys: readonly Buffer[]): SignedHeaders {
  const timestamp = String(Math.floor(message.at.getTime() / 1_000));
  const content = `${message.id}.${timestamp}.${message.body}`;
  const signatures = keys.map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`);
  return { 'webhook-id': message.id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

/** Throws a sentence when the value of the secret is no key. */
export function toKey(name: string, value: string): Buffer {
  const text = value.trim().replace(/^whsec_/, '');
  const key = Buffer.from(text, 'base64');
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(text);
  if (isBase64 && key.length >= LEAST && key.length <= MOST) return key;
  throw new Error(`The secret "${name}" is not ${LEAST} to ${MOST} bytes in base64. Make one: openssl rand -base64 32`);
}

// --- internal ---

const LEAST = 24;
const MOST = 64;
