import type { OperationTypes } from './surface/index.ts';
import { ROUTES } from './client-routes.ts';
import type { ClientRoute } from './client-routes.ts';
import { explainUnknown } from './operations/similar.ts';

export { signUserToken } from './sign-user-token.ts';
export type { UserTokenClaims, UserTokenKey } from './sign-user-token.ts';

type IdsOf<Answer> = {
  [Id in keyof OperationTypes]: OperationTypes[Id]['answer'] extends Answer ? Id : never;
}[keyof OperationTypes];
/** Operations that answer once. */
export type OperationId = IdsOf<'json'>;
/** Operations that answer an event stream. */
export type StreamId = IdsOf<'sse'>;
export type OperationInput<Id extends keyof OperationTypes> = OperationTypes[Id]['input'];
export type OperationOutput<Id extends keyof OperationTypes> = OperationTypes[Id]['output'];

export interface ClientOptions {
  /** `https://box.example.com` */
  baseUrl: string;
  /** What lets the caller in. Asked for at each call, where it is a function: an identity token lasts five minutes. */
  token?: string | (() => string | Promise<string>);
  /** Default: the one of the platform. */
  fetch?: (request: Request) => Promise<Response>;
}

export interface CallOptions {
  signal?: AbortSignal;
  headers?: Record<string, string>;
}

/** A frame of an event stream. */
export interface StreamEvent {
  id?: string;
  /** Default: `message`. */
  event: string;
  /** As it was sent: JSON, of the streams of the box. */
  data: string;
}

/** The operations of a box over HTTP: path, query and body members are one object, as they are for MCP. */
export interface Client {
  /** What the operation answers. Throws `ClientError` for a refusal. */
  call<Id extends OperationId>(
    id: Id,
    ...args: Record<never, never> extends OperationInput<Id>
      ? [input?: OperationInput<Id>, options?: CallOptions]
      : [input: OperationInput<Id>, options?: CallOptions]
  ): Promise<OperationOutput<Id>>;
  /** The frames of a stream, until the box or the caller ends it. */
  stream<Id extends StreamId>(id: Id, input?: OperationInput<Id>, options?: CallOptions): AsyncIterable<StreamEvent>;
}

/** What a box refused. */
export class ClientError extends Error {
  override readonly name = 'ClientError';
  readonly code: string;
  readonly status: number;
  readonly details: Record<string, unknown> | undefined;
  readonly requestId: string | undefined;

  constructor(status: number, body: Refusal) {
    super(body.message ?? `The box answered ${status}.`);
    this.status = status;
    this.code = body.code ?? 'unknown';
    this.details = body.details;
    this.requestId = body.requestId;
  }
}

export function createClient(options: ClientOptions): Client {
  const send = async (id: string, input: object = {}, call: CallOptions = {}): Promise<Response> => {
    const route = (ROUTES as Record<string, ClientRoute>)[id];
    if (!route) throw new TypeError(explainUnknown(id, Object.keys(ROUTES)));
    const request = await toRequest(options, { route, input: { ...input }, call });
    const response = await (options.fetch ?? fetch)(request);
    if (response.ok) return response;
    throw new ClientError(response.status, await readRefusal(response));
  };
  return {
    call: async (id, ...[input, call]) => (await send(id, input as object, call)).json() as never,
    async *stream(id, input, call) {
      const { body } = await send(id, input as object, call);
      if (body) yield* readEvents(body);
    },
  };
}

// --- internal ---

interface Refusal {
  code?: string;
  message?: string;
  details?: Record<string, unknown>;
  requestId?: string;
}

interface Sending {
  route: ClientRoute;
  input: Record<string, unknown>;
  call: CallOptions;
}

async function toRequest({ baseUrl, token }: ClientOptions, { route, input, call }: Sending): Promise<Request> {
  const [method = '', template = ''] = route.route.split(' ');
  const take = (name: string): unknown => {
    const value = input[name];
    delete input[name];
    return value;
  };
  const path = template.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(take(name))));
  const url = new URL(baseUrl.replace(/\/+$/, '') + path);
  const headers = new Headers(call.headers);
  const credential = typeof token === 'function' ? await token() : token;
  if (credential !== undefined) headers.set('authorization', `Bearer ${credential}`);
  for (const [header, name] of Object.entries(route.headers ?? {})) {
    const value = take(name);
    if (value !== undefined) headers.set(header, String(value));
  }
  const init: RequestInit = { method, headers, ...(call.signal ? { signal: call.signal } : {}) };
  if (method === 'GET' || method === 'DELETE') {
    for (const [name, value] of Object.entries(input))
      if (value !== undefined) url.searchParams.set(name, String(value));
    return new Request(url, init);
  }
  headers.set('content-type', 'application/json');
  const body = route.body === undefined ? input : take(route.body);
  return new Request(url, { ...init, body: body === undefined ? '' : JSON.stringify(body) });
}

async function readRefusal(response: Response): Promise<Refusal> {
  const text = await response.text();
  try {
    return JSON.parse(text) as Refusal;
  } catch {
    return {};
  }
}

async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const frames = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const event = toEvent(frame);
      if (event) yield event;
    }
  }
}

/** Undefined: a comment, which keeps the connection open. */
function toEvent(frame: string): StreamEvent | undefined {
  const fields: Record<string, string> = {};
  for (const line of frame.split('\n')) {
    const [, name = '', value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name !== '') fields[name] = name === 'data' && fields.data !== undefined ? `${fields.data}\n${value}` : value;
  }
  const { id, event = 'message', data } = fields;
  return data === undefined ? undefined : { event, data, ...(id === undefined ? {} : { id }) };
}
