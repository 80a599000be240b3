import type { H3Event } from 'h3';
import { FastResponse } from 'srvx';
import type { Encoding, PageFile } from './files.ts';
import { isOrigin } from './origin.ts';

/** Answers a request for a file of the dashboard. Undefined: it is for none. */
export type Pages = (event: H3Event) => Response | undefined;

export interface PagesOptions {
  files: ReadonlyMap<string, PageFile>;
  /** Whether a path answers JSON too: there a page is for who asks for one. */
  hasRoute(path: string): boolean;
}

export function createPages({ files, hasRoute }: PagesOptions): Pages {
  return ({ req: { method, headers }, url: { pathname } }) => {
    if (method !== 'GET' && method !== 'HEAD') return undefined;
    const file = files.get(pathname);
    if (!file || (hasRoute(pathname) && !(headers.get('accept') ?? '').includes('text/html'))) return undefined;
    return answerFile(file, headers);
  };
}

/** Origins besides its own that a page may call, and that it may show pictures of. What is no plain origin is left out. */
export interface PageOrigins {
  connect?: readonly string[];
  pictures?: readonly string[];
}

/** A file in the form that is asked for. */
export function answerFile({ type, isHashed, forms }: PageFile, asked: Headers, origins: PageOrigins = {}): Response {
  const encoding = chooseEncoding(asked.get('accept-encoding') ?? '', forms);
  const { bytes, etag } = forms[encoding] ?? forms.identity;
  const headers: Record<string, string> = {
    'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'accept, accept-encoding',
    etag,
    ...(type.startsWith('text/html') ? { 'content-security-policy': toPolicy(origins) } : {}),
  };
  if (isKnown(asked.get('if-none-match'), etag)) return new FastResponse(null, { status: 304, headers });
  return new FastResponse(bytes as Uint8Array<ArrayBuffer>, {
    headers: {
      ...headers,
      'content-type': type,
      'content-length': String(bytes.length),
      ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
    },
  });
}

// --- internal ---

/** No script, style or frame but our own files, nothing in the text of a page, and no form to elsewhere. */
function toPolicy(origins: PageOrigins): string {
  const [connect, pictures] = [origins.connect, origins.pictures].map((given = []) =>
    [...new Set(given)].filter(isOrigin),
  );
  return [
    "default-src 'self'",
    ...(connect?.length ? [`connect-src 'self' ${connect.join(' ')}`] : []),
    ["img-src 'self' data:", ...(pictures ?? [])].join(' '),
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function chooseEncoding(accepted: string, forms: PageFile['forms']): Encoding {
  const taken = new Map(
    accepted.split(',').map((entry) => {
      const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
      const q = parameters.find((parameter) => parameter.startsWith('q='));
      return [name, q === undefined || Number(q.slice(2)) > 0] as const;
    }),
  );
  const found = (['br', 'gzip'] as const).find((name) => forms[name] && (taken.get(name) ?? taken.get('*') ?? false));
  return found ?? 'identity';
}

function isKnown(given: string | null, etag: string): boolean {
  if (given === null) return false;
  return given.trim() === '*' || given.split(',').some((one) => one.trim().replace(/^W\//, '') === etag);
}
