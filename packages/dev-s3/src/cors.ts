import type { IncomingMessage } from 'node:http';

import { answerEmpty } from './answer.ts';
import type { Answer } from './answer.ts';
import { S3Error } from './errors.ts';

/** True for a page served by this machine: any port of `localhost`, `127.0.0.1` or `[::1]` over http. */
export function isLocalOrigin(origin: string | undefined): origin is string {
  return origin !== undefined && /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/.test(origin);
}

/** A preflight carries no signature, so it is answered before anything is checked. */
export function answerPreflight(incoming: IncomingMessage): Answer {
  const { origin, 'access-control-request-method': method } = incoming.headers;
  if (origin === undefined || method === undefined) {
    throw new S3Error('BadRequest', 'A preflight needs the headers Origin and Access-Control-Request-Method.');
  }
  if (!isLocalOrigin(origin)) {
    throw new S3Error('AccessForbidden', `The origin "${origin}" may not use this server. Local pages may.`);
  }
  return answerEmpty(200, {
    'access-control-allow-methods': 'GET, PUT, POST, DELETE, HEAD',
    'access-control-allow-headers': readRequestedHeaders(incoming),
    'access-control-max-age': '600',
  });
}

/** What every answer to a local page carries: it may read the answer, and every header of it. */
export function formatCors(origin: string | undefined, headers: Record<string, string>): Record<string, string> {
  if (!isLocalOrigin(origin)) return {};
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': Object.keys(headers).join(', '),
  };
}

// --- internal ---

function readRequestedHeaders(incoming: IncomingMessage): string {
  const requested = incoming.headers['access-control-request-headers'] ?? '';
  return requested
    .split(',')
    .map((name) => name.trim())
    .filter((name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name))
    .join(', ');
}
