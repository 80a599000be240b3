import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';

import { describe, expect, test } from 'vitest';

import { listFiles, sendRaw, startFixture } from './_setup.ts';
import type { Fixture, RawRequest } from './_setup.ts';
import { sha256, signRaw } from './_sign.ts';
import type { SignOptions } from './_sign.ts';

describe('who may ask', () => {
  test('no request without a signature, whatever the path', async () => {
    const { server } = await startFixture();
    for (const path of ['/', '/box', '/box/a', '/missing/a', '/box?acl']) {
      expect(await sendRaw(server.url, { path })).toMatchObject({ status: 403, code: 'AccessDenied' });
    }
  });

  test('signed headers named like a part of every object are only missing headers', async () => {
    const { server } = await startFixture();
    const raw = signRaw({ host: new URL(server.url).host });
    const authorization = raw.headers?.['authorization']?.replace('host;', '__proto__;constructor;host;') ?? '';
    const answer = await sendRaw(server.url, { ...raw, headers: { ...raw.headers, authorization } });
    expect(answer).toMatchObject({ status: 403, code: 'SignatureDoesNotMatch' });
  });

  test.each(['127.0.0.1', 'localhost:1', '[::1]:9000'])('the host %s is served', async (host) => {
    const { server } = await startFixture();
    expect((await sendRaw(server.url, signRaw({ host }))).status).toBe(200);
  });

  test.each(['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:80', '10.0.0.1', '0.0.0.0'])(
    'the host "%s" is refused, signed or not',
    async (host) => {
      const { server } = await startFixture();
      expect(await sendRaw(server.url, signRaw({ host }))).toMatchObject({ status: 403, code: 'AccessDenied' });
    },
  );

  test.each<[string, Partial<SignOptions>, number, string]>([
    ['another region', { region: 'eu-west-1' }, 400, 'AuthorizationHeaderMalformed'],
    ['a clock an hour behind', { date: new Date(Date.now() - 3_600_000) }, 403, 'RequestTimeTooSkewed'],
    ['another secret', { secretKey: 'x' }, 403, 'SignatureDoesNotMatch'],
    ['no known payload form', { payload: 'SOMETHING', method: 'PUT' }, 400, 'InvalidArgument'],
  ])('%s is refused', async (_, options, status, code) => {
    expect(await send({ path: '/box/a', ...options })).toMatchObject({ status, code });
  });
});

describe('what may be asked', () => {
  test.each<[string, string, number, string]>([
    ['GET', '/box/a?acl=', 501, 'NotImplemented'],
    ['PUT', '/box/a?tagging=', 501, 'NotImplemented'],
    ['GET', '/box?versioning=', 501, 'NotImplemented'],
    ['GET', '/box/a?versionId=3', 501, 'NotImplemented'],
    ['DELETE', '/box', 501, 'NotImplemented'],
    ['POST', '/box', 501, 'NotImplemented'],
    ['POST', '/', 405, 'MethodNotAllowed'],
    ['PATCH', '/box/a', 405, 'MethodNotAllowed'],
    ['GET', '/B', 400, 'InvalidBucketName'],
    ['PUT', '/..', 400, 'InvalidBucketName'],
    ['PUT', '/.tmp', 400, 'InvalidBucketName'],
    ['GET', '/box?list-type=3', 400, 'InvalidArgument'],
    ['GET', '/box?list-type=2&max-keys=-1', 400, 'InvalidArgument'],
    ['GET', '/box/%FF', 400, 'InvalidURI'],
    ['GET', '/box/a', 404, 'NoSuchKey'],
  ])('%s %s is %i %s', async (method, path, status, code) => {
    expect(await send({ method, path })).toMatchObject({ status, code });
  });

  test('the key of a path is never normalised', async () => {
    const fixture = await startFixture();
    const { host } = new URL(fixture.server.url);
    const path = '/box/a/../../b//./c';
    await sendRaw(fixture.server.url, signRaw({ host, method: 'PUT', path, body: 'data' }));
    expect((await sendRaw(fixture.server.url, signRaw({ host, path }))).text).toBe('data');
    expect((await sendRaw(fixture.server.url, signRaw({ host, path: '/b/c' }))).code).toBe('InvalidBucketName');
    const [file] = await listFiles(fixture.dir);
    expect(file).toBe(`${fixture.dir}/box/objects/a%2f..%2f..%2fb%2f%2f.%2fc`);
  });

  test('an error names the resource and the request', async () => {
    const answer = await send({ path: '/box/a%26b' });
    expect(answer.text).toContain('<Resource>/box/a%26b</Resource>');
    expect(answer.text).toContain(`<RequestId>${String(answer.headers['x-amz-request-id'])}</RequestId>`);
  });
});

const crc = (value: string) => ({ 'x-amz-checksum-crc32': value });

describe('bodies', () => {
  test.each<[string, Partial<SignOptions>, number, string]>([
    ['another body than was signed', { payload: sha256('other') }, 400, 'XAmzContentSHA256Mismatch'],
    ['another MD5', { headers: { 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' } }, 400, 'BadDigest'],
    ['no MD5 at all', { headers: { 'content-md5': 'AAAA' } }, 400, 'InvalidDigest'],
    ['another checksum', { headers: crc('AAAAAA==') }, 400, 'BadDigest'],
    ['half a checksum', { headers: crc('AAA=') }, 400, 'InvalidRequest'],
    ['two checksums', { headers: { ...crc('AAAAAA=='), 'x-amz-checksum-crc32c': 'AAAAAA==' } }, 400, 'InvalidRequest'],
    ['more than 5 GiB', { headers: { 'content-length': String(5 * 1024 ** 3 + 1) } }, 400, 'EntityTooLarge'],
    ['no length', { headers: { 'transfer-encoding': 'chunked' } }, 411, 'MissingContentLength'],
    ['metadata of 3 KB', { headers: { 'x-amz-meta-a': 'x'.repeat(3000) } }, 400, 'MetadataTooLarge'],
    ['a key of its own', { headers: { 'x-amz-server-side-encryption-customer-key': 'x' } }, 501, 'NotImplemented'],
  ])('%s is refused and leaves nothing', async (_, options, status, code) => {
    const fixture = await startFixture();
    const answer = await send({ method: 'PUT', path: '/box/a', body: 'data', ...options }, fixture);
    expect(answer).toMatchObject({ status, code });
    expect(await listFiles(fixture.dir)).toEqual([]);
  });

  test('a body in signed chunks is stored without their framing', async () => {
    const fixture = await startFixture();
    const data = randomBytes(20_000);
    expect((await sendChunks(fixture, { data, sent: data })).status).toBe(200);
    const { host } = new URL(fixture.server.url);
    const answer = await sendRaw(fixture.server.url, signRaw({ host, method: 'HEAD', path: '/box/a' }));
    expect(answer.headers).toMatchObject({ 'content-length': '20000', 'x-amz-request-id': expect.any(String) });
  });

  test('a chunk that was changed on the way is refused and leaves nothing', async () => {
    const fixture = await startFixture();
    const data = Buffer.alloc(20_000, 'a');
    const sent = Buffer.concat([data.subarray(0, 19_999), Buffer.from('b')]);
    expect(await sendChunks(fixture, { data, sent })).toMatchObject({ status: 403, code: 'SignatureDoesNotMatch' });
    expect(await listFiles(fixture.dir)).toEqual([]);
  });

  const crc32 = 'rfPzYw=='; // of "data"
  test.each<[string, string, number, string | undefined]>([
    ['a right trailer', `4\r\ndata\r\n0\r\nx-amz-checksum-crc32:${crc32}\r\n\r\n`, 200, undefined],
    ['another checksum', '4\r\ndata\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n', 400, 'BadDigest'],
    ['no trailer', '4\r\ndata\r\n0\r\n\r\n', 400, 'MalformedTrailerError'],
    ['another trailer', '4\r\ndata\r\n0\r\nx-amz-checksum-crc32c:AAAAAA==\r\n\r\n', 400, 'MalformedTrailerError'],
    ['too few bytes', `3\r\ndat\r\n0\r\nx-amz-checksum-crc32:${crc32}\r\n\r\n`, 400, 'IncompleteBody'],
    ['too many bytes', `5\r\ndatas\r\n0\r\nx-amz-checksum-crc32:${crc32}\r\n\r\n`, 400, 'IncompleteBody'],
    ['no last chunk', '4\r\ndata\r\n', 400, 'IncompleteBody'],
    ['a size that is no number', 'data\r\n', 400, 'InvalidChunkSizeError'],
    ['data longer than its chunk', '3\r\ndata\r\n0\r\n\r\n', 400, 'IncompleteBody'],
    [
      'a second body behind the end',
      `4\r\ndata\r\n0\r\nx-amz-checksum-crc32:${crc32}\r\n\r\nmore`,
      400,
      'IncompleteBody',
    ],
  ])('unsigned chunks with %s', async (_, body, status, code) => {
    const answer = await send({
      method: 'PUT',
      path: '/box/a',
      body,
      payload: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
      headers: {
        'x-amz-decoded-content-length': '4',
        'x-amz-trailer': 'x-amz-checksum-crc32',
        'content-encoding': 'aws-chunked',
      },
    });
    expect(answer).toMatchObject({ status, code });
  });

  test.each([
    '',
    '<Delete>',
    '<!DOCTYPE a [<!ENTITY b "c">]><Delete/>',
    '<Delete><Object><Key>&b;</Key></Object></Delete>',
  ])('a delete list of %j is MalformedXML', async (body) => {
    expect(await send({ method: 'POST', path: '/box?delete=', body })).toMatchObject({
      status: 400,
      code: 'MalformedXML',
    });
  });

  test('a client that waits for its 100 is refused before it sends the body', async () => {
    const { server } = await startFixture();
    const { host } = new URL(server.url);
    const signed = (secretKey?: string) =>
      signRaw({
        host,
        method: 'PUT',
        path: '/box/a',
        body: 'data',
        headers: { expect: '100-continue' },
        ...(secretKey ? { secretKey } : {}),
      });
    expect(await sendAfterContinue(server.url, signed('wrong'))).toEqual({ status: 403, continued: false });
    expect(await sendAfterContinue(server.url, signed())).toEqual({ status: 200, continued: true });
  });
});

describe('browsers', () => {
  const preflight = { method: 'OPTIONS', path: '/box/a' };
  const asks = {
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'content-type, x-amz-meta-a',
  };

  test.each(['http://localhost:4242', 'http://127.0.0.1:3000', 'http://[::1]:1', 'http://localhost'])(
    'a page of %s may ask and read every header',
    async (origin) => {
      const fixture = await startFixture();
      const answer = await sendRaw(fixture.server.url, { ...preflight, headers: { origin, ...asks } });
      expect(answer).toMatchObject({
        status: 200,
        headers: {
          'access-control-allow-origin': origin,
          'access-control-allow-methods': expect.stringContaining('PUT'),
          'access-control-allow-headers': 'content-type, x-amz-meta-a',
          vary: 'Origin',
        },
      });
      const put = await send({ method: 'PUT', path: '/box/a', body: 'x', headers: { origin } }, fixture);
      expect(put.headers['access-control-allow-origin']).toBe(origin);
      expect(put.headers['access-control-expose-headers']).toContain('etag');
    },
  );

  test.each(['http://evil.example', 'https://localhost.evil.example', 'http://localhost:80@evil.example', 'null'])(
    'a page of %s may not',
    async (origin) => {
      const fixture = await startFixture();
      const answer = await sendRaw(fixture.server.url, { ...preflight, headers: { origin, ...asks } });
      expect(answer).toMatchObject({ status: 403, code: 'AccessForbidden' });
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      const list = await send({ path: '/box', headers: { origin } }, fixture);
      expect(list.status).toBe(200);
      expect(list.headers['access-control-allow-origin']).toBeUndefined();
    },
  );
});

async function send(options: Partial<SignOptions>, fixture?: Fixture) {
  const { server } = fixture ?? (await startFixture());
  return sendRaw(server.url, signRaw({ host: new URL(server.url).host, ...options }));
}

/** Signs chunks of `data`, but sends those of `sent`. */
function sendChunks({ server }: Fixture, { data, sent }: { data: Buffer; sent: Buffer }) {
  const signed = signRaw({
    host: new URL(server.url).host,
    method: 'PUT',
    path: '/box/a',
    payload: 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
    headers: { 'x-amz-decoded-content-length': String(data.length), 'content-encoding': 'aws-chunked' },
  });
  const pieces = [0, 8192, 16_384, data.length].map((start, index, starts) => {
    const [from, to] = [start, starts[index + 1] ?? data.length];
    const signature = signed.signPiece('PAYLOAD', sha256(''), sha256(data.subarray(from, to)));
    const head = `${(to - from).toString(16)};chunk-signature=${signature}\r\n`;
    return Buffer.concat([Buffer.from(head), sent.subarray(from, to), Buffer.from('\r\n')]);
  });
  return sendRaw(server.url, { ...signed, body: Buffer.concat(pieces) });
}

function sendAfterContinue(url: string, raw: RawRequest): Promise<{ status: number; continued: boolean }> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let continued = false;
    const headers = { ...raw.headers, 'content-length': '4' };
    const outgoing = httpRequest({ hostname, port, method: raw.method, path: raw.path, headers, agent: false });
    outgoing.on('continue', () => {
      continued = true;
      outgoing.end(raw.body);
    });
    outgoing.on('response', (incoming) => {
      incoming.resume();
      resolve({ status: incoming.statusCode ?? 0, continued });
      outgoing.destroy();
    });
    outgoing.on('error', reject);
    outgoing.flushHeaders();
  });
}
