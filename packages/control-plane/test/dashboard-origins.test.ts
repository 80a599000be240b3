import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readSettings } from '../src/config.ts';
import { openStore } from '../src/plane.ts';
import { sql } from '../src/store/sql.ts';
import { addInstallation } from './_box.ts';
import { fakeLookup } from './_lookup.ts';
import { signUpFirst } from './_people.ts';
import { makeClock, makeStore, SECRET_KEY, startPlane } from './_setup.ts';
import type { RunningPlane } from './_setup.ts';

// The second way to a box besides its registration: the page of the dashboard asks it where its storage is.

const STORAGE = 'https://s3.example.com';
const tell = (response: ServerResponse) => {
  const storage = { endpoint: STORAGE, bucket: 'files', forcePathStyle: true };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ storage }));
};

/** What stands for a box that was registered once; answers where, and how often it was asked since. */
async function serveBox(answer: (response: ServerResponse) => void = tell) {
  let asked = 0;
  const server = createServer((request, response) => {
    if (request.url === '/api/services') asked += 1;
    answer(response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, asked: () => asked };
}

async function start(url: string, more: Record<string, string> = {}) {
  const env = { ...(await makeStore('sqlite')), ...more };
  const clock = makeClock();
  const first = await startPlane({ env, now: clock.now });
  const ada = await signUpFirst(first);
  const id = await addInstallation(first, ada.cookie);
  await first.close();
  const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...env });
  if (!full) throw new Error('The full mode has a store.');
  const db = await openStore(full);
  await db.run(sql`insert into plane_deployments (installation_id, url, image_tag, contract, registered_at, registered_by)
    values (${id}, ${url}, ${'a'}, 1, ${Date.now()}, ${ada.userId})`);
  await db.close();
  const plane = await startPlane({ env, now: clock.now });
  return { plane, clock, read: () => readPolicy(plane, id, ada.cookie) };
}

/** What the page of an installation may connect to. */
async function readPolicy(plane: RunningPlane, id: string, cookie: string): Promise<string> {
  const headers = { cookie, accept: 'text/html' };
  const page = await fetch(`${plane.url}/studio/?installation=${id}`, { headers });
  expect(page.status).toBe(200);
  return page.headers.get('content-security-policy') ?? '';
}

describe('the page of a box', () => {
  test('may ask the storage that its box names, under the address that was checked for the connection', async () => {
    const box = await serveBox();
    let address = '127.0.0.1';
    const asked = fakeLookup((name) => (name === 'box.test' ? [address] : undefined));
    const { clock, read } = await start(`http://box.test:${box.port}`);
    await expect.poll(read).toContain(STORAGE);
    expect([box.asked(), asked()]).toStrictEqual([1, 1]);
    // The name leads to the metadata of a cloud by now: no one is asked there, and what was known stays.
    address = '169.254.169.254';
    clock.move(61_000);
    await read();
    await expect.poll(asked).toBe(2);
    expect(await read()).toContain(STORAGE);
    expect(box.asked()).toBe(1);
  });

  test('has no storage where the name of its box leads to what is never asked, or to several of which one is', async () => {
    const box = await serveBox();
    for (const addresses of [['169.254.169.254'], ['127.0.0.1', '169.254.169.254'], ['fd00:ec2::254']]) {
      fakeLookup((name) => (name === 'box.test' ? addresses : undefined));
      const { read } = await start(`http://box.test:${box.port}`);
      expect(await read()).not.toContain(STORAGE);
    }
    expect(box.asked()).toBe(0);
  });

  test('asks no box of a private network that was registered while that was allowed', async () => {
    const box = await serveBox();
    const { read } = await start(`http://127.0.0.1:${box.port}`, { PLANE_ALLOW_PRIVATE: '0' });
    expect(await read()).not.toContain(STORAGE);
    expect(box.asked()).toBe(0);
  });

  test('is there while its box answers a bomb, a redirect, or nothing', async () => {
    const bomb = gzipSync(Buffer.alloc(256 * 1_048_576));
    const answers: ((response: ServerResponse) => void)[] = [
      (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
      (response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
      () => {},
    ];
    const before = process.memoryUsage().rss;
    for (const answer of answers) {
      const box = await serveBox(answer);
      const { read } = await start(`http://127.0.0.1:${box.port}`);
      const began = performance.now();
      expect(await read()).not.toContain(STORAGE);
      expect(performance.now() - began).toBeLessThan(5_000);
      expect(box.asked()).toBe(1);
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1_048_576);
  });
});
