import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';

export interface CdpBrowser {
  /** Of its debugging port: `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly port: number;
  /** The addresses of the pages it has open, whoever opened them. */
  pages(): Promise<string[]>;
}

/** One Chromium for all tests of a file, which is reached at a port. Nothing but this machine has an address for it. */
export function startCdpBrowser(path: string): CdpBrowser {
  let port = 0;
  let stop = async (): Promise<void> => {};
  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-cdp-'));
    const child = spawn(path, [...FLAGS, `--user-data-dir=${folder}`, 'about:blank'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    stop = async () => {
      child.kill('SIGKILL');
      await gone;
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    };
    port = await new Promise<number>((resolve, reject) => {
      let said = '';
      void gone.then(() => reject(new Error(`Chromium has ended: ${said}`)));
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        const [, found] = /ws:\/\/127\.0\.0\.1:(\d+)\//.exec(said) ?? [];
        if (found) resolve(Number(found));
      });
    });
  });
  afterAll(() => stop());
  return {
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    get port() {
      return port;
    },
    async pages() {
      const listed = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
        type: string;
        url: string;
      }[];
      return listed.flatMap(({ type, url }) => (type === 'page' ? [url] : []));
    },
  };
}

export interface CdpProxy {
  url: string;
  /** What was asked for with `accept`. */
  asked: { path: string; authorization: string | undefined }[];
  /** Breaks off what is open. */
  cut(): void;
}

/** A proxy in front of a browser, which asks for a key; closed after the test. */
export async function startCdpProxy(
  port: number,
  accept: (request: IncomingMessage) => boolean = () => true,
): Promise<CdpProxy> {
  const asked: CdpProxy['asked'] = [];
  const open = new Set<{ destroy(): void }>();
  const note = (request: IncomingMessage) =>
    asked.push({ path: request.url ?? '', authorization: request.headers.authorization });
  const server = createServer(async (request, response) => {
    note(request);
    if (!accept(request)) return void response.writeHead(401).end();
    const answer = await fetch(`http://127.0.0.1:${port}${request.url}`);
    response.writeHead(answer.status).end(await answer.text());
  });
  server.on('upgrade', (request, socket) => {
    note(request);
    if (!accept(request)) return void socket.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n');
    const upstream = connect(port, '127.0.0.1', () => {
      const path = (request.url ?? '').split('?')[0];
      const headers = Object.entries(request.headers).filter(([name]) => name !== 'authorization' && name !== 'host');
      const lines = headers.map(([name, value]) => `${name}: ${String(value)}\r\n`).join('');
      upstream.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${lines}\r\n`);
      socket.pipe(upstream).pipe(socket);
    });
    for (const end of [socket, upstream]) {
      open.add(end);
      end.on('error', () => {});
      end.on('close', () => [socket, upstream].forEach((one) => one.destroy()));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => open.forEach((socket) => socket.destroy());
  onTestFinished(() => {
    cut();
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, cut };
}

// --- internal ---

const FLAGS = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE 127.0.0.2 , EXCLUDE localhost',
  '--remote-debugging-port=0',
];
