import { isUtf8 } from 'node:buffer';
import { BoxError } from '../errors.ts';
import { isJsonType, parseJson } from '../http/body.ts';

/** What is kept of a request, and what a workflow without a mapping is given. */
export interface InboundRequest {
  headers: Record<string, string>;
  query: Record<string, string>;
  /** JSON as its value, a form as its fields, else text; bytes that are no text as `{ base64 }`. */
  body: unknown;
}

/** Throws `invalid_json` and `payload_too_large`, as any body of JSON. */
export async function toBody(bytes: Buffer, contentType: string | null): Promise<unknown> {
  if (bytes.length === 0) return null;
  if (!isUtf8(bytes)) return { base64: bytes.toString('base64') };
  if (isJsonType(contentType)) return parseJson(bytes);
  if (/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(contentType ?? '')) return readForm(bytes);
  // Some send JSON as if it were text.
  return looksLikeJson(bytes) ? parseJson(bytes).catch(() => bytes.toString('utf8')) : bytes.toString('utf8');
}

/** Without what lets someone in, and without the way the request has come. */
export function toHeaders(headers: Headers, credentials: readonly (string | undefined)[]): Record<string, string> {
  const hidden = new Set([...HIDDEN_HEADERS, ...credentials.flatMap((name) => name?.toLowerCase() ?? [])]);
  const kept = [...headers].filter(([name]) => !hidden.has(name) && !ON_THE_WAY.test(name));
  return Object.fromEntries(kept.slice(0, MOST_HEADERS).map(([name, value]) => [name, value.slice(0, MOST_LENGTH)]));
}

export function toQuery(params: URLSearchParams): Record<string, string> {
  return toRecord([...params].toReversed());
}

/** Whether it has so few fields that reading them takes no time. */
export function isShortForm(bytes: Buffer): boolean {
  let fields = 1;
  for (let at = bytes.indexOf(AMPERSAND); at !== -1; at = bytes.indexOf(AMPERSAND, at + 1))
    if (++fields > MOST_FIELDS) return false;
  return true;
}

/** What lets someone in. */
export const HIDDEN_HEADERS = ['authorization', 'proxy-authorization', 'cookie', 'x-api-key', 'x-auth-token'];

// --- internal ---

const AMPERSAND = 0x26;

const ON_THE_WAY =
  /^(?:host|connection|keep-alive|transfer-encoding|upgrade|te|trailer|via|forwarded|x-forwarded-.*|x-real-ip|x-request-id|cf-.*|true-client-ip|traceparent|tracestate|baggage)$/;
const MOST_HEADERS = 60;
const MOST_LENGTH = 2_000;
const MOST_FIELDS = 2_000;

function looksLikeJson(bytes: Buffer): boolean {
  return /^\s*[[{]/.test(bytes.subarray(0, 100).toString('latin1'));
}

/** A form whose one field is `payload`, as GitHub and Slack send some, is what is in that. */
async function readForm(bytes: Buffer): Promise<unknown> {
  if (!isShortForm(bytes))
    throw new BoxError('payload_too_large', `The form has more than ${MOST_FIELDS} fields.`, {
      details: { limit: MOST_FIELDS },
    });
  const params = new URLSearchParams(bytes.toString('utf8'));
  const payload = params.size === 1 ? params.get('payload') : null;
  if (payload !== null && /^\s*[[{]/.test(payload)) return parseJson(Buffer.from(payload));
  const names = new Set(params.keys());
  if (names.size === params.size) return toRecord([...params]);
  return toRecord(
    [...names].map((name) => {
      const all = params.getAll(name);
      return [name, all.length === 1 ? (all[0] ?? '') : all] as const;
    }),
  );
}

function toRecord<T>(entries: readonly (readonly [string, T])[]): Record<string, T> {
  return Object.fromEntries(entries.filter(([name]) => name !== '__proto__' && name !== 'constructor'));
}
