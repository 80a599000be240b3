import type { IncomingMessage } from 'node:http';

import { S3Error } from './errors.ts';

/** One request, read but not yet trusted. */
export interface S3Request {
  id: string;
  method: string;
  /** The path as sent. Never normalised: a key may be `a/../b`. */
  rawPath: string;
  /** Decoded. Empty for a call on the service. */
  bucket: string;
  /** Decoded. Empty for a call on a bucket. */
  key: string;
  query: [name: string, value: string][];
  headers: NodeJS.Dict<string[]>;
  incoming: IncomingMessage;
  /** Sends 100 Continue to a client that waits for it before it sends the body. */
  acceptBody(): void;
}

export function readRequest(
  incoming: IncomingMessage,
  options: { id: string; acceptBody?: (() => void) | undefined },
): S3Request {
  const target = incoming.url ?? '';
  if (!target.startsWith('/'))
    throw new S3Error('InvalidURI', `The request target "${target}" does not begin with "/".`);
  const mark = target.indexOf('?');
  const rawPath = mark === -1 ? target : target.slice(0, mark);
  const path = decodeUri(rawPath).slice(1);
  const inHost = findHostBucket(incoming.headers.host);
  const slash = path.indexOf('/');
  const inPath = { bucket: slash === -1 ? path : path.slice(0, slash), key: slash === -1 ? '' : path.slice(slash + 1) };
  return {
    id: options.id,
    method: incoming.method ?? '',
    rawPath,
    ...(inHost === undefined ? inPath : { bucket: inHost, key: path }),
    query: mark === -1 ? [] : parseQuery(target.slice(mark + 1)),
    // Without a prototype: the client chooses which names are looked up.
    headers: Object.assign(Object.create(null) as NodeJS.Dict<string[]>, incoming.headersDistinct),
    incoming,
    acceptBody: options.acceptBody ?? (() => {}),
  };
}

/** The header, its repetitions joined by a comma as the signature sees them. */
export function findHeader(request: Pick<S3Request, 'headers'>, name: string): string | undefined {
  return request.headers[name]?.join(',');
}

export function findParam(request: Pick<S3Request, 'query'>, name: string): string | undefined {
  return request.query.find(([candidate]) => candidate === name)?.[1];
}

export function hasParam(request: Pick<S3Request, 'query'>, name: string): boolean {
  return findParam(request, name) !== undefined;
}

/**
 * Every `x-amz-` setting by lower-case name. A presigned URL carries them in its query, where the signer hoists them.
 * A checksum in the query does not count: a signer has no body at hand and writes the checksum of nothing.
 */
export function listSettings(request: Pick<S3Request, 'headers' | 'query'>): Map<string, string> {
  const settings = new Map<string, string>();
  for (const [name, value] of request.query) {
    const lower = name.toLowerCase();
    if (lower.startsWith('x-amz-') && !lower.startsWith('x-amz-checksum-')) settings.set(lower, toHeaderValue(value));
  }
  for (const [name, values] of Object.entries(request.headers)) {
    if (name.startsWith('x-amz-') && values) settings.set(name, values.join(','));
  }
  return settings;
}

/** Text as node:http carries it in a header: one character a byte of its UTF-8. */
export function toHeaderValue(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** Percent-decodes UTF-8. `+` stays `+`. */
export function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new S3Error('InvalidURI', `"${text}" is not valid percent-encoded UTF-8.`);
  }
}

/** Percent-encodes all but the unreserved characters, as SigV4 asks. */
export function encodeUri(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

// --- internal ---

/** Of a client that writes the bucket before the host, as in `box.localhost:9000`. */
function findHostBucket(host: string | undefined): string | undefined {
  return /^([a-z0-9][a-z0-9.-]*)\.localhost(?::\d+)?$/i.exec(host ?? '')?.[1]?.toLowerCase();
}

function parseQuery(text: string): [string, string][] {
  return text
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const equals = pair.indexOf('=');
      const name = equals === -1 ? pair : pair.slice(0, equals);
      const value = equals === -1 ? '' : pair.slice(equals + 1);
      return [decodeUri(name.replaceAll('+', ' ')), decodeUri(value.replaceAll('+', ' '))];
    });
}
