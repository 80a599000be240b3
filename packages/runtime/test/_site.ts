import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from 'vitest';

export interface Site {
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** `<host> <path>` of every request, oldest first. */
  readonly asked: string[];
}

/** A few pages on every loopback address of this machine, for all tests of a file. */
export function startSite(pages: Record<string, (request: IncomingMessage, response: ServerResponse) => string>): Site {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? '';
    asked.push(`${(request.headers.host ?? '').replace(/:\d+$/, '')} ${path}`);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    const page = pages[path];
    if (!page) return void response.writeHead(404).end('<title>None</title>');
    const text = page(request, response);
    response.end(text);
  });
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, resolve));
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const port = (): number => (server.address() as AddressInfo).port;
  return {
    get port() {
      return port();
    },
    get url() {
      return `http://127.0.0.1:${port()}`;
    },
    asked,
  };
}
