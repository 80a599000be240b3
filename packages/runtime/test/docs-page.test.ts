import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { setupBoxes } from './_setup.ts';

const boxes = setupBoxes();

async function read(path: string) {
  const answer = await (await boxes.open()).request(path);
  return { answer, text: await answer.text() };
}

test('the reference page lists every route without a script', async () => {
  const { answer, text } = await read('/api/docs');
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const document = JSON.parse((await read('/api/openapi.json')).text) as { paths: Record<string, object> };
  const rows = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `<b>${method.toUpperCase()}</b> <code>${path}</code>`),
  );
  expect(rows.filter((row) => !text.includes(row))).toEqual([]);
  expect(text).toContain('<code>runs.cancel</code>: Needs the permission <code>runs:cancel</code>.');
});

test('it asks nothing of another host, and what it asks for is served', async () => {
  const { answer, text } = await read('/api/docs');
  expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
  const all = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address);
  const addresses = all.filter((address) => !address.startsWith('data:'));
  expect(addresses).toContain('/api/openapi.json');
  expect(addresses.filter((address) => !address.startsWith('/api/'))).toEqual([]);
  const statuses = await Promise.all(addresses.map(async (address) => (await read(address)).answer.status));
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
});

test('its files are named ones alone', async () => {
  const others = ['package.json', '..%2Fpackage.json', 'swagger-ui.js', 'nope'];
  const statuses = await Promise.all(
    others.map(async (file) => (await read(`/api/docs/assets/${file}`)).answer.status),
  );
  expect(statuses).toEqual([404, 404, 404, 404]);
  const { answer, text } = await read('/api/docs/assets/init.js');
  expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  expect(text).toContain('SwaggerUIBundle');
});

test.each(['/api/openapi.json', '/api/docs', '/api/docs/assets/swagger-ui-bundle.js'])(
  '%s is made once, compressed, and not sent again to whoever has it',
  async (path) => {
    const box = await boxes.open();
    const plain = await box.request(path);
    const etag = plain.headers.get('etag') ?? '';
    const text = await plain.text();
    const packed = await box.request(path, { headers: { 'accept-encoding': 'br, gzip' } });
    expect([packed.headers.get('content-encoding'), packed.headers.get('vary')]).toEqual([
      'gzip',
      expect.stringContaining('accept-encoding'),
    ]);
    const bytes = Buffer.from(await packed.arrayBuffer());
    expect(bytes.length).toBeLessThan(text.length / 2);
    expect(gunzipSync(bytes).toString()).toBe(text);
    const again = await box.request(path, { headers: { 'if-none-match': `W/"other", ${etag}` } });
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
    const refused = await box.request(path, { headers: { 'accept-encoding': 'gzip;q=0' } });
    expect([refused.headers.get('content-encoding'), refused.headers.get('etag')]).toEqual([null, etag]);
  },
);
