import type { IncomingHttpHeaders } from 'node:http';

// What whoever passes a request on has to know of its headers.

/** Between two neighbours alone. */
export const HOP_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
]);

/** Those that the header `Connection` says are for this neighbour, too. */
export function listNamed(connection: string | undefined): Set<string> {
  return new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
}

/** Whether a request has a body, or may have. */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** What is wrong with how a body is framed: two readers could see its end differently. Undefined: nothing. */
export function findFramingFault(headers: IncomingHttpHeaders): string | undefined {
  const encoding = headers['transfer-encoding'];
  if (encoding === undefined || encoding.toLowerCase() === 'chunked') return undefined;
  return 'A body is sent with its length or chunked, and not otherwise.';
}
