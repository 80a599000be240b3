import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { findFramingFault, HOP_HEADERS, listNamed } from '../http/hop.ts';
import { PASSED_HEADER } from './passed.ts';

export interface Outside {
  /** Of whoever asks; undefined where it is not known. */
  address: string | undefined;
  /** How the name of the tunnel is reached. */
  proto: 'http' | 'https';
  host: string;
}

/** Of a request from outside, what the box is sent, as HTTP/2 has it. */
export function toBoxHeaders({ method = 'GET', url = '/', headers: given }: IncomingMessage, outside: Outside) {
  const { address, proto, host } = outside;
  const headers: OutgoingHttpHeaders = { ':method': method, ':path': url, ':scheme': 'http', ':authority': host };
  const named = listNamed(given.connection);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || HOP_HEADERS.has(name) || KEPT_BACK.has(name) || name.startsWith('x-forwarded-'))
      continue;
    if (!named.has(name) || name === 'content-length') headers[name] = value;
  }
  if (address !== undefined) headers['x-forwarded-for'] = address;
  headers['x-forwarded-host'] = host;
  headers['x-forwarded-proto'] = proto;
  return headers;
}

/** Of an answer of the box, what is sent to whoever asked. */
export function toAnswerHeaders(given: IncomingHttpHeaders): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(given))
    if (value !== undefined && !name.startsWith(':') && !HOP_HEADERS.has(name) && !NOT_OURS.has(name))
      headers[name] = value;
  return headers;
}

/** Why the request cannot be passed on. Undefined: it can. */
export function findFault({ url = '/', headers }: IncomingMessage): string | undefined {
  if (!url.startsWith('/')) return 'The path of the request is absolute.';
  return findFramingFault(headers);
}

// --- internal ---

/** What others say of who asks, our own among them; and cookies: those of a name beside ours are not for a box. */
const KEPT_BACK = new Set(['host', 'cookie', 'forwarded', 'via', 'x-real-ip', PASSED_HEADER]);

/** A box sets no cookies, which would be good for other names of the domain; and knows no other way to itself. */
const NOT_OURS = new Set(['set-cookie', 'set-cookie2', 'alt-svc']);
