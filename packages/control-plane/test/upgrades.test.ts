import { expect, test } from 'vitest';
import { sendBytes } from './_operator.ts';
import { signUpFirst } from './_people.ts';
import { startPlane, startStandalone } from './_setup.ts';

/** As `curl --http2` asks. */
const offer = (line: string, more = '') =>
  `${line} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n${more}\r\n`;

test.each(['full', 'standalone'])(
  'a request that offers HTTP/2 is answered as any other, in the %s mode',
  async (mode) => {
    const plane =
      mode === 'full' ? await startPlane() : await startStandalone({ STUDIO_STANDALONE_TOKEN: 'x'.repeat(32) });
    expect(await sendBytes(plane, offer('GET /live'))).toMatch(/^HTTP\/1\.1 200 /);
    expect(await sendBytes(plane, offer('GET /nothing/here'))).toMatch(/^HTTP\/1\.1 404 [^]*"not_found"/);
  },
);

test('what it offers beside is no way round who may do what', async () => {
  const plane = await startPlane();
  const { cookie } = await signUpFirst(plane);
  expect(await sendBytes(plane, offer('GET /api/v1/me'))).toMatch(/^HTTP\/1\.1 401 /);
  expect(await sendBytes(plane, offer('GET /api/v1/me', `Cookie: ${cookie}\r\n`))).toMatch(
    /^HTTP\/1\.1 200 [^]*"ada@example.com"/,
  );
  const foreign = `Cookie: ${cookie}\r\nOrigin: https://evil.example\r\n`;
  expect(await sendBytes(plane, offer('POST /api/v1/auth/logout', foreign))).toMatch(/^HTTP\/1\.1 403 /);
});

test('a WebSocket is none anywhere else, and a body is not read', async () => {
  const plane = await startPlane();
  const socket = 'GET /live HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  expect(await sendBytes(plane, socket)).toMatch(/^HTTP\/1\.1 404 [^]*There is no WebSocket at \/live/);
  expect(await sendBytes(plane, `${offer('POST /api/v1/auth/login', 'Content-Length: 2\r\n')}{}`)).toMatch(
    /^HTTP\/1\.1 404 /,
  );
});
