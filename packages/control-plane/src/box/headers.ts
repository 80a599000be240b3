import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { PlaneError } from '../errors.ts';
import { findFramingFault, HOP_HEADERS, listNamed } from '../http/hop.ts';

/** Of a request, what goes on to the box. Throws `invalid_request` for a body whose end two readers could see differently. */
export function toBoxHeaders(given: IncomingHttpHeaders, own: { host: string; token: string }): OutgoingHttpHeaders {
  const fault = findFramingFault(given);
  if (fault !== undefined) throw new PlaneError('invalid_request', fault);
  const named = listNamed(given.connection);
  const headers: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || HOP_HEADERS.has(name) || KEPT_BACK.has(name) || KEPT_BACK_OF.test(name)) continue;
    // What frames the body is never someone else's to take away.
    if (!named.has(name) || name === 'content-length') headers[name] = value;
  }
  headers.host = own.host;
  headers.authorization = `Bearer ${own.token}`;
  if (given['transfer-encoding'] !== undefined) headers['transfer-encoding'] = 'chunked';
  return headers;
}

/** Of an answer of the box, what goes on to the browser, in the order and as often as it came. */
export function* toOwnHeaders({ rawHeaders, headers }: IncomingMessage, boxOrigin: string): Iterable<[string, string]> {
  const named = listNamed(headers.connection);
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2);
    const lower = name.toLowerCase();
    if (HOP_HEADERS.has(lower) || NOT_OURS.has(lower) || lower.startsWith('access-control-')) continue;
    if (named.has(lower) && lower !== 'content-length') continue;
    yield [lower, lower === 'location' ? toOwnLocation(value, boxOrigin) : value];
  }
}

// --- internal ---

/** Who asks, as the browser or a proxy says it: the control plane has judged that, and asks as the operator. */
const KEPT_BACK = new Set([
  'authorization',
  'cookie',
  'x-api-key',
  'host',
  'forwarded',
  'via',
  'x-real-ip',
  'origin',
  'referer',
]);
const KEPT_BACK_OF = /^(?:x-forwarded-|sec-|access-control-|x-svc-signature$)/;

/** Headers by which the box would set policies of the control plane's origin. */
const NOT_OURS = new Set([
  'set-cookie',
  'set-cookie2',
  'clear-site-data',
  'content-security-policy',
  'cross-origin-opener-policy',
  'cross-origin-opener-policy-report-only',
  'cross-origin-embedder-policy-report-only',
  'content-security-policy-report-only',
  'strict-transport-security',
  'service-worker-allowed',
  'refresh',
  'alt-svc',
  // Where the browser would report to, of addresses of the control plane.
  'report-to',
  'reporting-endpoints',
  'nel',
  // What its pages may do, and what the browser reports to it.
  'permissions-policy',
  'document-policy',
  'integrity-policy',
  'origin-agent-cluster',
  'accept-ch',
  'critical-ch',
  'speculation-rules',
  'public-key-pins',
  'login-status',
  'activate-storage-access',
  // A window of the browser's own that asks for a password.
  'www-authenticate',
]);

/** A place at the box is one below `/box` for the browser. */
function toOwnLocation(location: string, boxOrigin: string): string {
  const path = location.startsWith(`${boxOrigin}/`) ? location.slice(boxOrigin.length) : location;
  return path.startsWith('/') && !path.startsWith('//') ? `/box${path}` : location;
}
