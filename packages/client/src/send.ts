import { ROUTES } from './routes.ts';
import type { ClientRoute } from './routes.ts';
import { explainUnknown } from './similar.ts';
import { ClientError } from './errors.ts';
import type { Refusal } from './errors.ts';

export interface ClientOptions {
  /** `https://box.example.com` */
  baseUrl: string;
  /** What lets the caller in. Asked for at each call, where it is a function: an identity token lasts five minutes. */
  token?: string | (() => string | Promise<string>);
  /** Sent with each call, such as `{ 'x-svc-user': 'ada' }`. */
  headers?: Record<string, string>;
  /** Default: the one of the platform. */
  fetch?: (request: Request) => Promise<Response>;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
  headers?: Record<string, string> | undefined;
}

export interface StreamOptions extends CallOptions {
  /** Called once the stream is open, and with whatever comes through it, a heartbeat too. */
  onAlive?: (() => void) | undefined;
  /** Called with each id that comes, of a frame without data, too: where a later call goes on, as `lastEventId`. */
  onId?: ((id: string) => void) | undefined;
}

/** Requests to one box. What it refuses is thrown as `ClientError`. */
export interface Sender {
  /** An operation: path, query, header and body members are one object. */
  operation(id: string, input: object | undefined, call: CallOptions | undefined): Promise<Response>;
  /** JSON to a path. */
  post(path: string, body: unknown, call: CallOptions): Promise<Response>;
}

/** Throws a sentence on an address that is none. */
export function createSender(options: ClientOptions): Sender {
  requireBaseUrl(options);
  const ask = async (request: Request): Promise<Response> => {
    const response = await (options.fetch ?? fetch)(request);
    if (response.ok) return response;
    throw new ClientError(response.status, await readRefusal(response));
  };
  return {
    async operation(id, input = {}, call = {}) {
      const route = (ROUTES as Record<string, ClientRoute>)[id];
      if (!route) throw new TypeError(explainUnknown(id, Object.keys(ROUTES)));
      return ask(await toRequest(options, { id, route, input: { ...input }, call }));
    },
    async post(path, body, call) {
      const headers = await toHeaders(options, call);
      headers.set('content-type', 'application/json');
      const url = options.baseUrl.replace(/\/+$/, '') + path;
      return ask(new Request(url, { method: 'POST', headers, body: JSON.stringify(body), ...toSignal(call) }));
    },
  };
}

// --- internal ---

interface Sending {
  id: string;
  route: ClientRoute;
  input: Record<string, unknown>;
  call: CallOptions;
}

function requireBaseUrl({ baseUrl }: ClientOptions): void {
  // Callers in JavaScript leave it out, or call it something else.
  const given: unknown = baseUrl;
  if (typeof given === 'string' && /^https?:/.test(given) && URL.canParse(given)) return;
  const what = given === undefined ? 'missing' : JSON.stringify(given);
  throw new TypeError(
    `"baseUrl" of createClient is ${what}. Give the address of the box, such as http://127.0.0.1:4242.`,
  );
}

async function toRequest(options: ClientOptions, { id, route, input, call }: Sending): Promise<Request> {
  const [method = '', template = ''] = route.route.split(' ');
  const take = (name: string): unknown => {
    const value = input[name];
    delete input[name];
    return value;
  };
  const path = template.replace(/:(\w+)/g, (_, name: string) => {
    const value = take(name);
    if (value === undefined || value === null || value === '')
      throw new TypeError(`The operation "${id}" needs "${name}", a part of its path: ${route.route}.`);
    return encodeURIComponent(String(value));
  });
  const url = new URL(options.baseUrl.replace(/\/+$/, '') + path);
  const headers = await toHeaders(options, call);
  for (const [header, name] of Object.entries(route.headers ?? {})) {
    const value = take(name);
    if (value !== undefined) headers.set(header, String(value));
  }
  const init: RequestInit = { method, headers, ...toSignal(call) };
  const file = route.file === undefined ? undefined : (take(route.file) as Uint8Array<ArrayBuffer>);
  if (method === 'GET' || method === 'DELETE' || file) {
    for (const [name, value] of Object.entries(input))
      for (const each of Array.isArray(value) ? value : [value])
        if (each !== undefined) url.searchParams.append(name, String(each));
    return new Request(url, file ? { ...init, body: file } : init);
  }
  headers.set('content-type', 'application/json');
  const body = route.body === undefined ? input : take(route.body);
  return new Request(url, { ...init, body: body === undefined ? '' : JSON.stringify(body) });
}

async function toHeaders({ token, headers }: ClientOptions, call: CallOptions): Promise<Headers> {
  const all = new Headers({ ...headers, ...call.headers });
  const credential = typeof token === 'function' ? await token() : token;
  if (credential !== undefined) all.set('authorization', `Bearer ${credential}`);
  return all;
}

function toSignal({ signal }: CallOptions): { signal?: AbortSignal } {
  return signal ? { signal } : {};
}

async function readRefusal(response: Response): Promise<Refusal> {
  const text = await response.text();
  try {
    return JSON.parse(text) as Refusal;
  } catch {
    return {};
  }
}
