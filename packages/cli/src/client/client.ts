import {
  FILE_TIMEOUT_MS,
  notABox,
  openResponse,
  parseBody,
  TIMEOUT_MS,
  toAddress,
  toBoxError,
  toConnectionError,
} from './connection.ts';
import type { BoxRequest, Connection, Query } from './connection.ts';
import { CliError } from '../errors.ts';
import { followStream, readStream } from './follow.ts';
import type { Frame } from './frames.ts';
import type { Target } from './control-plane.ts';
import { resolveTarget } from './target.ts';
import type { TargetNames } from './target.ts';
import type { Context } from '../context.ts';

/** The HTTP side of every verb. Answers the parsed body of a success; throws a CliError for everything else. */
export interface Client {
  get<T>(path: string, query?: Query): Promise<T>;
  /** All there is of a list, page after page. */
  list<T>(path: string, query?: Query): Promise<T[]>;
  post<T>(path: string, body: unknown): Promise<T>;
  send<T>(request: BoxRequest): Promise<T>;
  /** The frames of an event stream, over lost connections. Ends when the box says so, or with Ctrl-C. */
  follow(request: BoxRequest): AsyncIterable<Frame>;
  /** The frames of one answer of a chat; one that is cut off is not asked for again. */
  stream(request: BoxRequest): AsyncIterable<Frame>;
}

/** A client of the box that `--agent` or `--url` names, or of the dev runtime. */
export function openClient(names: TargetNames, context: Context): Client {
  return createClient(resolveTarget(names, context), context);
}

export function createClient(target: Target | Promise<Target>, context: Omit<Connection, 'target'>): Client {
  const { signal, trace, say, note } = context;
  // One for all requests: a token that was renewed is good for the next one too.
  let connection: Promise<Connection> | undefined;
  const connect = () =>
    (connection ??= Promise.resolve(target).then((found) => ({ target: { ...found }, signal, trace, say, note })));
  const send = async (request: BoxRequest) => sendRequest(await connect(), request);
  const get = async <T>(path: string, query: Query = {}) => (await send({ method: 'GET', path, query })) as T;
  return {
    get,
    async list<T>(path: string, query: Query = {}) {
      const items: T[] = [];
      for (let cursor: string | null | undefined; ;) {
        const page = await get<Listed<T>>(path, { ...query, limit: String(PAGE), ...(cursor ? { cursor } : {}) });
        items.push(...page.items);
        // A box that answers the same cursor again would be asked for ever.
        if (!page.nextCursor || page.nextCursor === cursor) return items;
        cursor = page.nextCursor;
      }
    },
    post: async <T>(path: string, body: unknown) => (await send({ method: 'POST', path, body })) as T,
    send: async <T>(request: BoxRequest) => (await send(request)) as T,
    async *follow(request) {
      yield* followStream(await connect(), request);
    },
    async *stream(request) {
      const open = await connect();
      // A chat wants a credential of whoever asks, a dev box any.
      const { isDev, token } = open.target;
      const headers: Record<string, string> = isDev && token === undefined ? { authorization: 'Bearer dev' } : {};
      yield* readStream(open, { ...request, headers: { ...headers, ...request.headers } });
    },
  };
}

/** A name or id as one segment of a path. */
export function toSegment(text: string): string {
  // A URL resolves these two away, which would reach another route.
  if (text === '.' || text === '..' || text.length > NAME_MAX)
    throw new CliError('not_found', `There is nothing named "${text}".`);
  return encodeURIComponent(text);
}

// --- internal ---

/** The most a box answers at once. */
const PAGE = 200;

interface Listed<T> {
  items: T[];
  nextCursor?: string | null;
}

/** Longer than any name or id, and short enough for the line of a request. */
const NAME_MAX = 1_000;

async function sendRequest(connection: Connection, request: BoxRequest): Promise<unknown> {
  const url = toAddress(connection.target, request);
  const started = performance.now();
  const { response, text } = await receive(connection, request).catch((error: unknown) => {
    // What the control plane says where a token has to be renewed.
    if (error instanceof CliError) throw error;
    connection.trace(`${request.method} ${url} failed`);
    throw toConnectionError(error, connection);
  });
  connection.trace(`${request.method} ${url} ${response.status} ${Math.round(performance.now() - started)} ms`);
  const body = parseBody(text);
  if (!response.ok) throw toBoxError(response, body, url);
  if (body === undefined) throw notABox(response, url);
  return body;
}

async function receive(connection: Connection, request: BoxRequest) {
  const response = await openResponse(
    connection,
    request,
    AbortSignal.timeout(request.file ? FILE_TIMEOUT_MS : TIMEOUT_MS),
  );
  return { response, text: await response.text() };
}
