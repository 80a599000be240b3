import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { REPOSITORY } from '../_docs.ts';
import { readTar } from '../_image.ts';

export interface Registry {
  url: string;
  /** How often each of its own packages was asked for. */
  served: Map<string, number>;
  close(): Promise<void>;
}

/**
 * A registry of npm with the tarballs of a folder in it. Every other package comes from the one npm is configured for, and
 * is kept, so that the second install is one of this machine alone.
 */
export async function startRegistry(folder: string, upstream: string): Promise<Registry> {
  const own = await readTarballs(folder);
  const served = new Map<string, number>();
  const server = createServer((request, response) => {
    answer(request.url ?? '/', request.headers.accept).catch((error: unknown) => {
      response.writeHead(502).end(String(error));
    });

    async function answer(url: string, accept = '*/*'): Promise<void> {
      const path = decodeURIComponent(url.split('?')[0] ?? '').slice(1);
      const tarball = own.find(({ file }) => path === `-/${file}`);
      if (tarball) return send(response, 'application/octet-stream', tarball.content);
      const packages = own.filter(({ manifest }) => manifest.name === path);
      if (packages.length > 0) {
        served.set(path, (served.get(path) ?? 0) + 1);
        return send(response, 'application/json', Buffer.from(JSON.stringify(toPackument(packages, address()))));
      }
      const { type, content } = await fetchKept(`${upstream}${url.slice(1)}`, accept);
      // Tarballs are asked for here, too.
      const text = type.includes('json') ? content.toString().replaceAll(upstream, `${address()}/`) : content;
      send(response, type, Buffer.from(text));
    }
  });
  await new Promise<void>((done) => server.listen(0, '0.0.0.0', done));
  const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: address(),
    served,
    async close() {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A registry that has nothing yet, and what it was asked, by method and path. */
export async function startEmptyRegistry(): Promise<{ url: string; asked: string[]; close(): Promise<void> }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${decodeURIComponent(request.url ?? '')}`);
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not_found"}');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    asked,
    async close() {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}

// --- internal ---

/** Kept between runs: what a registry has published never changes, and the rest is of today. */
const CACHE = join(REPOSITORY, 'node_modules/.cache/svc-registry');

interface Tarball {
  file: string;
  content: Buffer;
  manifest: { name: string; version: string };
}

async function readTarballs(folder: string): Promise<Tarball[]> {
  const files = readdirSync(folder).filter((file) => file.endsWith('.tgz'));
  return Promise.all(
    files.map(async (file) => {
      const content = readFileSync(join(folder, file));
      const text = (await readTar(gunzipSync(content))).get('package/package.json');
      return { file, content, manifest: JSON.parse(String(text)) as Tarball['manifest'] };
    }),
  );
}

function toPackument(packages: Tarball[], url: string): object {
  const versions = packages.map(({ file, content, manifest }) => {
    const integrity = `sha512-${createHash('sha512').update(content).digest('base64')}`;
    return [manifest.version, { ...manifest, dist: { tarball: `${url}/-/${file}`, integrity } }] as const;
  });
  const [latest] = versions.at(-1) ?? [];
  return { name: packages[0]?.manifest.name, 'dist-tags': { latest }, versions: Object.fromEntries(versions) };
}

async function fetchKept(url: string, accept: string): Promise<{ type: string; content: Buffer }> {
  const key = createHash('sha256').update(`${new Date().toDateString()} ${accept} ${url}`).digest('hex');
  const kept = join(CACHE, key);
  try {
    return { type: readFileSync(`${kept}.type`, 'utf8'), content: readFileSync(kept) };
  } catch {
    const response = await fetch(url, { headers: { accept } });
    if (!response.ok) throw new Error(`${url} answered ${response.status}.`);
    const type = response.headers.get('content-type') ?? 'application/octet-stream';
    const content = Buffer.from(await response.arrayBuffer());
    mkdirSync(CACHE, { recursive: true });
    for (const [name, text] of [
      [kept, content],
      [`${kept}.type`, type],
    ] as const) {
      writeFileSync(`${name}.${process.pid}`, text);
      renameSync(`${name}.${process.pid}`, name);
    }
    return { type, content };
  }
}

function send(response: ServerResponse, type: string, content: Buffer): void {
  response.writeHead(200, { 'content-type': type, 'content-length': content.length }).end(content);
}
