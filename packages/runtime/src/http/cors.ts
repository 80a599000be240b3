/** Where the hosted dashboard and the hosted chat are served, and any program on the developer's own machine. */
export const DEFAULT_CORS_ORIGINS: readonly string[] = [
  'https://studio.svc.example',
  'https://chat.svc.example',
  'http://localhost:*',
];

/** Which pages of other origins may read the box's answers. */
export interface Cors {
  /** The answer to a browser that asks before it sends; undefined for any other request. */
  answerPreflight(request: Request): Response | undefined;
  /** Says in an answer who may read it. An origin that may not gets no header, and gets its answer all the same. */
  markAnswer(response: Response, request: Request): void;
}

/** `origins` is asked at each request: the entries in force, which an edit of `svc.config.ts` changes. */
export function createCors(origins: () => readonly string[]): Cors {
  const patterns = new Map<string, RegExp | undefined>();
  const patternOf = (entry: string): RegExp | undefined => {
    if (!patterns.has(entry)) patterns.set(entry, parseOrigin(entry));
    return patterns.get(entry);
  };
  const findAllowed = ({ headers }: Request): string | undefined => {
    const origin = headers.get('origin');
    if (origin === null) return undefined;
    return origins().some((entry) => patternOf(entry)?.test(origin)) ? origin : undefined;
  };
  return {
    answerPreflight(request) {
      const method = request.headers.get('access-control-request-method');
      if (request.method !== 'OPTIONS' || method === null || !request.headers.has('origin')) return undefined;
      const headers = new Headers({ vary: 'access-control-request-method, access-control-request-headers' });
      if (findAllowed(request) !== undefined) {
        headers.set('access-control-allow-methods', METHODS);
        headers.set('access-control-max-age', String(MAX_AGE_SECONDS));
        const asked = request.headers.get('access-control-request-headers');
        if (asked !== null) headers.set('access-control-allow-headers', asked);
        // A page from the internet that calls a box on this machine is asked for by its own header.
        if (request.headers.get('access-control-request-private-network') === 'true')
          headers.set('access-control-allow-private-network', 'true');
      }
      return new Response(null, { status: 204, headers });
    },
    markAnswer({ headers }, request) {
      headers.append('vary', 'origin');
      const origin = findAllowed(request);
      if (origin === undefined) return;
      headers.set('access-control-allow-origin', origin);
      headers.set('access-control-expose-headers', EXPOSED);
    },
  };
}

/** True for an entry of the list: `https://app.example.com`, with `*` for one label of the host or for the port. */
export function isOriginEntry(text: unknown): text is string {
  return typeof text === 'string' && parseOrigin(text) !== undefined;
}

// --- internal ---

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const EXPOSED =
  'x-request-id, request-id, x-svc-run-id, x-svc-ignored, retry-after, x-should-retry, allow, www-authenticate, mcp-protocol-version';
const MAX_AGE_SECONDS = 600;

const ENTRY = /^([a-z][a-z\d+.-]*):\/\/((?:\*|[\w-]+)(?:\.(?:\*|[\w-]+))*|\[[\da-f:]+\])(?::(\d{1,5}|\*))?$/;
/** What a browser leaves out of an Origin. */
const DEFAULT_PORTS: Record<string, string> = { http: '80', https: '443' };

/** Matches no Origin but those the entry names: `null` never, as it has no host. */
function parseOrigin(entry: string): RegExp | undefined {
  const [, scheme = '', host = '', port] = ENTRY.exec(entry.toLowerCase()) ?? [];
  if (scheme === '' || host === '*') return undefined;
  const hostSource = host.split('*').map(escape).join('[\\w-]+');
  const portSource = port === '*' ? '(?::\\d{1,5})?' : port && port !== DEFAULT_PORTS[scheme] ? `:${port}` : '';
  return new RegExp(`^${escape(scheme)}://${hostSource}${portSource}$`);
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
