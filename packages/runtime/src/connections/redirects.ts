import { BoxError } from '../errors.ts';
import type { GuardedFetch } from './guarded-fetch.ts';

export interface FollowOptions {
  /** Looks at every address, also after a redirect. */
  fetch: GuardedFetch;
  url: URL;
  method: string;
  body?: Uint8Array | undefined;
  /** What is sent to an address. */
  headersFor(url: URL): Headers;
  signal: AbortSignal | undefined;
  /** Default: `follow`. */
  redirect?: Request['redirect'];
}

/**
 * Asks, and goes where the answer leads, three times at most: never from https to what is not, and never with credentials in
 * an address. After 303, and of a POST after 301 and 302, a GET without a body is left. Throws `connection_failed`.
 */
export async function followRedirects(options: FollowOptions): Promise<Response> {
  const { fetch, headersFor, signal, redirect = 'follow' } = options;
  let { url, method, body } = options;
  for (let redirects = 0; ; redirects++) {
    const headers = headersFor(url);
    if (body === undefined) for (const name of OF_BODY) headers.delete(name);
    const answer = await fetch(url, { method, headers, body, signal });
    const location = REDIRECTS.has(answer.status) ? answer.headers.get('location') : null;
    if (location === null || redirect === 'manual') return answer;
    await answer.body?.cancel();
    if (redirect === 'error' || redirects === MOST_REDIRECTS || !URL.canParse(location, url.href))
      throw new BoxError('connection_failed', `${url.origin} redirects where it is not followed.`);
    const next = new URL(location, url);
    if (next.protocol !== 'https:' && next.protocol !== url.protocol)
      throw new BoxError('connection_failed', `${url.origin} redirects to an address that is not https.`);
    if (answer.status === 303 || (answer.status < 303 && method === 'POST')) {
      method = method === 'HEAD' ? 'HEAD' : 'GET';
      body = undefined;
    }
    next.username = '';
    next.password = '';
    url = next;
  }
}

/** Of headers that are meant for one service, those that another may see: they say what is asked for, and hold no key. */
export function toForeignHeaders(headers: Headers): Headers {
  return new Headers([...headers].filter(([name]) => FOREIGN.test(name)));
}

// --- internal ---

const MOST_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const OF_BODY = ['content-type', 'content-length', 'content-encoding', 'content-language'];
const FOREIGN =
  /^(?:accept(?:-language)?|content-(?:type|encoding|language|md5)|if-(?:match|none-match|modified-since|unmodified-since|range)|range|user-agent|cache-control)$/;
