import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** What lies between a command line and its control plane: it passes on what is asked, and is down or silent where a test says so. */
export interface Door {
  url: string;
  /** `<method> <path>` of every request. */
  seen: string[];
  /** It answers 503, as a proxy does whose control plane is away. */
  isDown: boolean;
  /** It takes requests and answers none. */
  isSilent: boolean;
  /** What is done before a request is passed on: `<method> <path>`. */
  before(line: string): void | Promise<void>;
  /** Begins to pass on to the control plane there. */
  lead(url: string): void;
}

export async function openDoor(): Promise<Door> {
  let target = '';
  const answer = async (request: IncomingMessage): Promise<Passed> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const line = `${request.method} ${request.url}`;
    door.seen.push(line);
    await door.before(line);
    if (door.isSilent) return new Promise(() => {});
    if (door.isDown) return { status: 503, text: JSON.stringify({ code: 'away', message: 'The upstream is away.' }) };
    const { authorization, cookie, origin } = request.headers;
    const { 'content-type': type, 'user-agent': agent } = request.headers;
    const headers = Object.entries({ authorization, cookie, origin, 'content-type': type, 'user-agent': agent });
    const passed = await fetch(`${target}${request.url}`, {
      method: request.method ?? 'GET',
      headers: headers.filter((one): one is [string, string] => one[1] !== undefined),
      ...(parts.length > 0 ? { body: Buffer.concat(parts) } : {}),
    });
    return { status: passed.status, text: await passed.text(), cookies: passed.headers.getSetCookie() };
  };
  const server = createServer((request, response) => {
    answer(request).then(
      ({ status, text, cookies = [] }) =>
        response.writeHead(status, { 'content-type': 'application/json', 'set-cookie': cookies }).end(text),
      // Whoever asked is gone, or the control plane is.
      () => response.destroy(),
    );
  });
  // A machine that stands still is no reason to close a connection just as it is used again.
  server.keepAliveTimeout = 0;
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const door: Door = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    isDown: false,
    isSilent: false,
    before: () => {},
    lead: (url) => void (target = url),
  };
  return door;
}

// --- internal ---

interface Passed {
  status: number;
  text: string;
  cookies?: string[];
}
