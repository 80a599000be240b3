import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { createDashboard } from '../src/dashboard.ts';
import { addInstallation, openBox } from './_box.ts';
import { startSignedIn } from './_operator.ts';
import { ask, signUpFirst } from './_people.ts';
import { makeFolder, startPlane } from './_setup.ts';

const boxes = setupBoxes();

function serve() {
  const outside = makeFolder();
  writeFileSync(join(outside, 'secret.txt'), 'secret');
  const folder = join(outside, 'dashboard');
  mkdirSync(join(folder, 'assets'), { recursive: true });
  writeFileSync(join(folder, 'index.html'), '<!doctype html>');
  writeFileSync(join(folder, 'assets/index-1a2b3c4d.js'), 'export {};');
  const caller = { id: 'a1', name: 'ada', role: 'viewer' as const };
  const dashboard = createDashboard({
    folder,
    bootstrap: () => ({ place: 'dev', box: '', name: 'shop', caller }),
    connect: () => ['https://box.example.com'],
  });
  return (path: string, init?: RequestInit) => dashboard(new Request(`http://x${path}`, init));
}

describe('the dashboard', () => {
  test('is one page for every address of a screen, which may call its own origin and that of the box', async () => {
    const get = serve();
    for (const path of ['/studio/', '/studio/runs', '/studio/runs/wrun_1.x', '/studio/index.html', '/studio/a/b?c=d']) {
      const answer = await get(path);
      expect([path, await answer?.text(), answer?.headers.get('cache-control')]).toEqual([
        path,
        '<!doctype html>',
        'no-cache',
      ]);
      expect(answer?.headers.get('content-security-policy')).toBe(
        "default-src 'self'; connect-src 'self' https://box.example.com; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
      );
    }
    expect((await get('/studio'))?.headers.get('location')).toBe('/studio/');
  });

  test('has its files kept for good, and none that it does not have', async () => {
    const get = serve();
    const script = await get('/studio/assets/index-1a2b3c4d.js');
    expect(script?.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(script?.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    for (const path of ['/studio/assets/index-00000000.js', '/studio/assets/', '/', '/studios', '/api/runs'])
      expect([path, await get(path)]).toEqual([path, undefined]);
    expect(await get('/studio/', { method: 'POST' })).toBeUndefined();
  });

  test('leads to no file but its own', async () => {
    const get = serve();
    for (const path of [
      '/studio/../secret.txt',
      '/studio/%2e%2e/secret.txt',
      '/studio/..%2fsecret.txt',
      '/studio/assets/..%5c..%5c..%5csecret.txt',
      '/studio/assets/%2e%2e%2f%2e%2e%2fsecret.txt',
    ])
      expect([path, await (await get(path))?.text()]).not.toEqual([path, 'secret']);
  });

  test('says where it is served, and for which installation, to no one else', async () => {
    const answer = await serve()('/studio/bootstrap.json');
    expect(await answer?.json()).toStrictEqual({
      place: 'dev',
      box: '',
      name: 'shop',
      caller: { id: 'a1', name: 'ada', role: 'viewer' },
    });
    expect(answer?.headers.get('cache-control')).toBe('no-store');
  });
});

describe('the dashboard of a control plane', () => {
  test('says who looks to signed-in people alone', async () => {
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: 'http://127.0.0.1:1' });
    const nobody = await fetch(`${plane.url}/studio/bootstrap.json`);
    expect([nobody.status, await nobody.json()]).toMatchObject([401, { code: 'unauthorized' }]);
    const operator = await plane.ask('/studio/bootstrap.json');
    expect(await operator.json()).toMatchObject({ place: 'standalone', box: '/box', caller: { role: 'owner' } });
  });

  test('keeps the windows that it opens, as no other page does', async () => {
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: 'http://127.0.0.1:1' });
    const policyOf = async (path: string) => (await plane.ask(path)).headers.get('cross-origin-opener-policy');
    expect(await Promise.all(['/studio/', '/studio/runs', '/login', '/box/api/runs'].map(policyOf))).toEqual([
      'same-origin-allow-popups',
      'same-origin-allow-popups',
      'same-origin',
      'same-origin',
    ]);
  });

  test('may call the boxes of the organisation of who looks, and no others', async () => {
    const plane = await startPlane();
    const ada = await signUpFirst(plane);
    const policyOf = async (headers: Record<string, string>) =>
      (await fetch(`${plane.url}/studio/`, { headers })).headers.get('content-security-policy');
    expect(await policyOf({})).not.toContain('connect-src');
    const id = await addInstallation(plane, ada.cookie);
    const { status, body } = await ask(plane, 'GET /studio/bootstrap.json', ada);
    expect([status, body]).toMatchObject([200, { installation: id, problem: { code: 'no_deployment' } }]);
    const registration = { installationId: id, hmacSecret: 'f'.repeat(64) };
    const url = await (await openBox(boxes, { issuer: plane.url, installationId: id, registration })).listen();
    const linked = { url, hmacSecret: registration.hmacSecret, imageTag: 'shop:1' };
    const link = async () =>
      (await ask(plane, `POST /api/v1/installations/${id}/deployments`, { ...ada, body: linked })).status;
    // A box that is slow to answer is taken for none.
    await expect.poll(link, { timeout: 30_000 }).toBe(200);
    expect(await policyOf({ cookie: ada.cookie })).toContain(`connect-src 'self' ${url};`);
    expect(await policyOf({})).not.toContain(url);
  });
});
