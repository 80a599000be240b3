import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { FastResponse } from 'srvx';

/** An answer that is the same for all who ask: made once, compressed once, and not sent to whoever has it. */
export interface FixedAnswer {
  toResponse(request: Request): Promise<Response>;
}

/** `headers`: all but those of the encoding and of the version. */
export function createFixedAnswer(text: string, headers: Record<string, string>): FixedAnswer {
  const plain = Buffer.from(text);
  // Weak: the same for what is compressed.
  const etag = `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
  let packed: Promise<Buffer> | undefined;
  const own = { 'cache-control': 'no-cache', ...headers, etag, vary: 'accept-encoding' };
  return {
    async toResponse({ headers: asked }) {
      if (hasTag(asked.get('if-none-match'), etag)) return new FastResponse(null, { status: 304, headers: own });
      if (!takesGzip(asked.get('accept-encoding'))) return new FastResponse(plain, { headers: own });
      const bytes = await (packed ??= promisify(gzip)(plain));
      return new FastResponse(bytes, { headers: { ...own, 'content-encoding': 'gzip' } });
    },
  };
}

// --- internal ---

function hasTag(asked: string | null, etag: string): boolean {
  return asked !== null && asked.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag.slice(2));
}

function takesGzip(accepted: string | null): boolean {
  return /(?:^|,)\s*gzip\s*(?:;\s*q=(?:1|0?\.\d*[1-9])\d*)?\s*(?:,|$)/i.test(accepted ?? '');
}
