import { describe, expect, test } from 'vitest';
import { readSettings } from '../src/config.ts';
import { makeFolder, SECRET_KEY, startPlane, startStandalone } from './_setup.ts';

const TOKEN = 'a-token-that-is-long-enough';

describe('a control plane', () => {
  test('says that it lives, in both modes', async () => {
    for (const plane of [await startPlane(), await startStandalone({ STUDIO_STANDALONE_TOKEN: TOKEN })]) {
      const answer = await fetch(`${plane.url}/live`);
      expect([answer.status, await answer.json()]).toStrictEqual([200, { status: 'ok' }]);
    }
  });

  test('answers are kept by no cache, guessed at by no browser and framed by no page', async () => {
    const { headers } = await fetch(`${(await startPlane()).url}/live`);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('x-request-id')).toMatch(/^req_/);
  });

  test('what there is not is named, and what there is under another method', async () => {
    const { url } = await startPlane();
    const none = await fetch(`${url}/api/v1/nothing`);
    expect([none.status, await none.json()]).toMatchObject([404, { code: 'not_found' }]);
    const other = await fetch(`${url}/live`, { method: 'DELETE' });
    expect([other.status, other.headers.get('allow')]).toStrictEqual([405, 'GET, HEAD']);
  });

  test('its document names every route', async () => {
    const plane = await startPlane();
    const document = (await (await fetch(`${plane.url}/api/openapi.json`)).json()) as { paths: object };
    expect(Object.keys(document.paths)).toContain('/live');
  });
});

describe('the environment', () => {
  test('every variable that is broken is named at once, with a command that makes a usable one', () => {
    const read = () => readSettings({ PORT: '80a', SVC_PLANE_URL: 'studio', PLANE_SECRET_KEY: 'short' });
    expect(read).toThrow(
      expect.objectContaining({
        code: 'environment_invalid',
        message: expect.stringContaining('openssl rand -base64 32'),
      }),
    );
    for (const name of ['PORT', 'SVC_PLANE_URL', 'PLANE_SECRET_KEY', 'PLANE_DATA_DIR'])
      expect(read).toThrow(new RegExp(`^ {2}${name} `, 'm'));
  });

  test('a token selects the standalone mode, and an empty one is refused', () => {
    expect(readSettings({ STUDIO_STANDALONE_TOKEN: TOKEN }).mode).toBe('standalone');
    expect(() => readSettings({ STUDIO_STANDALONE_TOKEN: '' })).toThrow(/STUDIO_STANDALONE_TOKEN is empty/);
    expect(() => readSettings({ STUDIO_STANDALONE_TOKEN: 'short' })).toThrow(/can be guessed/);
    expect(readSettings({ PLANE_SECRET_KEY: SECRET_KEY, PLANE_DATA_DIR: '/data' }).mode).toBe('full');
  });

  test('a database under another key is refused before anything is asked', async () => {
    const env = { PLANE_DATA_DIR: makeFolder() };
    const first = await startPlane({ env });
    await first.close();
    const other = { ...env, PLANE_SECRET_KEY: Buffer.alloc(32, 8).toString('base64') };
    await expect(startPlane({ env: other })).rejects.toMatchObject({ code: 'secret_key_wrong' });
  });
});
