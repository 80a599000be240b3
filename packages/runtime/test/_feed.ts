import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from 'vitest';

/** A service that has a list, as one answers that is asked for what is new. */
export interface Feed {
  readonly url: string;
  items: unknown[];
  /** How it answers. */
  ways: {
    /** Says by ETag, or by Last-Modified, whether anything has changed. */
    validates: 'etag' | 'last-modified' | null;
    status: number;
    headers: Record<string, string>;
    /** In place of the list. */
    body: string | null;
    /** `{ "data": { "list": [...] } }` */
    isWrapped: boolean;
    /** By path: where it leads to. */
    leads: Record<string, string>;
    /** Answers once this is done. */
    held: Promise<unknown> | null;
  };
  /** What was asked, oldest first. */
  asked: { path: string; headers: IncomingHttpHeaders; status: number }[];
  reset(): void;
}

export function useFeed(): Feed {
  const ways = (): Feed['ways'] => ({
    validates: null,
    status: 200,
    headers: {},
    body: null,
    isWrapped: false,
    leads: {},
    held: null,
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '';
    const one = { path, headers: request.headers, status: 0 };
    self.asked.push(one);
    await self.ways.held;
    const location = self.ways.leads[path];
    if (location !== undefined) return void response.writeHead((one.status = 302), { location }).end();
    const { validates, status, headers, body, isWrapped } = self.ways;
    const text = body ?? JSON.stringify(isWrapped ? { data: { list: self.items } } : self.items);
    const version = `"${self.items.length}"`;
    const at = new Date(Date.UTC(2026, 0, 1, 0, 0, self.items.length)).toUTCString();
    const isSame =
      (validates === 'etag' && request.headers['if-none-match'] === version) ||
      (validates === 'last-modified' && request.headers['if-modified-since'] === at);
    one.status = isSame ? 304 : status;
    response.writeHead(one.status, {
      'content-type': 'application/json',
      ...(validates === 'etag' ? { etag: version } : {}),
      ...(validates === 'last-modified' ? { 'last-modified': at } : {}),
      ...headers,
    });
    response.end(isSame ? undefined : text);
  };
  const server = createServer((request, response) => void answer(request, response));
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const self: Feed = {
    get url() {
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
    items: [],
    ways: ways(),
    asked: [],
    reset() {
      self.items = [];
      self.ways = ways();
      self.asked = [];
    },
  };
  return self;
}
