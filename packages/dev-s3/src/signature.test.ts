import { describe, expect, test } from 'vitest';

import { decodeChunked } from './chunked.ts';
import type { SignedRequest } from './claim.ts';
import { verifySignature } from './signature.ts';

// The worked examples of the Amazon S3 API reference, "Authenticating Requests (AWS Signature Version 4)".
const credentials = {
  accessKey: 'AKIAIOSFODNN7EXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
};
const now = new Date('2013-05-24T00:00:00Z');
const scope = `${credentials.accessKey}/20130524/us-east-1/s3/aws4_request`;
const emptyHash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

describe('the documented examples', () => {
  test('GET an object with a range', () => {
    const authorized = verify({
      rawPath: '/test.txt',
      headers: { range: ['bytes=0-9'], 'x-amz-content-sha256': [emptyHash] },
      signedHeaders: 'host;range;x-amz-content-sha256;x-amz-date',
      signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    });
    expect(authorized.payloadHash).toHaveLength(64);
  });

  test('PUT an object whose key is escaped', () => {
    const authorized = verify({
      method: 'PUT',
      rawPath: '/test%24file.text',
      headers: {
        date: ['Fri, 24 May 2013 00:00:00 GMT'],
        'x-amz-content-sha256': ['44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072'],
        'x-amz-storage-class': ['REDUCED_REDUNDANCY'],
      },
      signedHeaders: 'date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class',
      signature: '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    });
    expect(authorized.payloadHash).toHaveLength(64);
  });

  test('GET a subresource without a value', () => {
    const authorized = verify({
      query: [['lifecycle', '']],
      signature: 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    });
    expect(authorized.payloadHash).toHaveLength(64);
  });

  test('list objects', () => {
    const authorized = verify({
      query: [
        ['prefix', 'J'],
        ['max-keys', '2'],
      ],
      signature: '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    });
    expect(authorized.payloadHash).toHaveLength(64);
  });

  test('a presigned GET, for as long as it lives', () => {
    const request = presigned('aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404');
    const end = now.getTime() + 86_400_000;
    expect(verifySignature(request, credentials, now).payloadHash).toBe('UNSIGNED-PAYLOAD');
    verifySignature(request, credentials, new Date(end));
    expect(() => verifySignature(request, credentials, new Date(end + 1000))).toThrow('Request has expired.');
    expect(() => verifySignature(request, credentials, new Date('2013-05-23T23:00:00Z'))).toThrow('not valid yet');
  });

  const chunked = {
    method: 'PUT',
    rawPath: '/examplebucket/chunkObject.txt',
    headers: {
      host: ['s3.amazonaws.com'],
      'content-encoding': ['aws-chunked'],
      'content-length': ['66824'],
      'x-amz-content-sha256': ['STREAMING-AWS4-HMAC-SHA256-PAYLOAD'],
      'x-amz-decoded-content-length': ['66560'],
      'x-amz-storage-class': ['REDUCED_REDUNDANCY'],
    },
    signedHeaders:
      'content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class',
    signature: '4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9',
  };
  const chunkSignatures: [string, string, string] = [
    'ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648',
    '0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497',
    'b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9',
  ];

  test('a body in signed chunks', async () => {
    const { chain } = verify(chunked);
    const body = chunkedBody(chunkSignatures, '\r\n');
    expect(body.length).toBe(66_824);
    expect(await readAll(decodeChunked(pieces(body), { chain }))).toBe('a'.repeat(66_560));
  });

  test('a signed chunk with one changed byte is refused', async () => {
    const { chain } = verify(chunked);
    const body = chunkedBody(chunkSignatures, '\r\n').replace('aaa\r\n400', 'aab\r\n400');
    await expect(readAll(decodeChunked(pieces(body), { chain }))).rejects.toMatchObject({
      code: 'SignatureDoesNotMatch',
    });
  });

  const trailing = {
    ...chunked,
    headers: {
      host: ['s3.amazonaws.com'],
      'content-encoding': ['aws-chunked'],
      'x-amz-content-sha256': ['STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER'],
      'x-amz-decoded-content-length': ['66560'],
      'x-amz-storage-class': ['REDUCED_REDUNDANCY'],
      'x-amz-trailer': ['x-amz-checksum-crc32c'],
    },
    signedHeaders:
      'content-encoding;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class;x-amz-trailer',
    signature: '106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e',
  };
  const trailingSignatures: [string, string, string] = [
    'b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2',
    '1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7',
    '2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992',
  ];
  const trailerSignature = 'd81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435';

  test('a body in signed chunks with a signed trailer', async () => {
    const { chain } = verify(trailing);
    const trailer = `x-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:${trailerSignature}\r\n\r\n`;
    const seen: [string, string][] = [];
    const body = pieces(chunkedBody(trailingSignatures, trailer));
    const text = await readAll(decodeChunked(body, { chain, onTrailer: (read) => void seen.push(...read) }));
    expect(text).toBe('a'.repeat(66_560));
    expect(seen).toEqual([['x-amz-checksum-crc32c', 'sOO8/Q==']]);
  });

  test.each([
    ['a changed trailer', `x-amz-checksum-crc32c:sOO8/R==\r\nx-amz-trailer-signature:${trailerSignature}\r\n\r\n`],
    ['a trailer without its signature', 'x-amz-checksum-crc32c:sOO8/Q==\r\n\r\n'],
    ['no trailer', '\r\n'],
  ])('%s is refused', async (_, trailer) => {
    const { chain } = verify(trailing);
    const body = decodeChunked(pieces(chunkedBody(trailingSignatures, trailer)), { chain, onTrailer: () => {} });
    await expect(readAll(body)).rejects.toMatchObject({ code: 'SignatureDoesNotMatch' });
  });
});

describe('what is refused', () => {
  const good = {
    signature: 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    query: [['lifecycle', '']],
  };
  const request = signed(good as Example);
  const authorization = request.headers['authorization']?.[0] ?? '';
  const withAuthorization = (value: string) => ({
    ...request,
    headers: { ...request.headers, authorization: [value] },
  });

  test.each<[string, SignedRequest, string]>([
    ['no signature', { ...request, headers: { host: ['localhost'] } }, 'AccessDenied'],
    ['a signature in both places', { ...request, query: presigned('').query }, 'InvalidArgument'],
    ['version 2', withAuthorization('AWS key:signature'), 'InvalidRequest'],
    ['basic authorization', withAuthorization('Basic a2V5OnNlY3JldA=='), 'InvalidRequest'],
    ['nonsense', withAuthorization('AWS4-HMAC-SHA256 nonsense'), 'AuthorizationHeaderMalformed'],
    ['no signature value', withAuthorization(authorization.replace(/Signature=.*/, '')), 'SignatureDoesNotMatch'],
    ['an upper-case signature', withAuthorization(authorization.replace('fea4', 'FEA4')), 'SignatureDoesNotMatch'],
    ['another key', withAuthorization(authorization.replace('AKIA', 'AKIB')), 'InvalidAccessKeyId'],
    [
      'another region',
      withAuthorization(authorization.replace('us-east-1', 'eu-west-1')),
      'AuthorizationHeaderMalformed',
    ],
    ['another service', withAuthorization(authorization.replace('/s3/', '/ec2/')), 'AuthorizationHeaderMalformed'],
    ['another day', withAuthorization(authorization.replace('20130524', '20130523')), 'AuthorizationHeaderMalformed'],
    ['a host that is not signed', withAuthorization(authorization.replace('host;', '')), 'AccessDenied'],
    ['another method', { ...request, method: 'DELETE' }, 'SignatureDoesNotMatch'],
    ['another path', { ...request, rawPath: '/other' }, 'SignatureDoesNotMatch'],
    ['another query', { ...request, query: [['acl', '']] }, 'SignatureDoesNotMatch'],
    ['another host', { ...request, headers: { ...request.headers, host: ['localhost'] } }, 'SignatureDoesNotMatch'],
    [
      'a header added on the way',
      { ...request, headers: { ...request.headers, 'x-amz-acl': ['public'] } },
      'AccessDenied',
    ],
    [
      'a repeated date',
      { ...request, headers: { ...request.headers, 'x-amz-date': ['20130524T000000Z', 'x'] } },
      'AccessDenied',
    ],
  ])('%s', (_, broken, code) => {
    expect(() => verifySignature(broken, credentials, now)).toThrow(expect.objectContaining({ code }));
  });

  test.each([-16, 16])('a clock that is %i minutes off', (minutes) => {
    const then = new Date(now.getTime() + minutes * 60_000);
    expect(() => verifySignature(request, credentials, then)).toThrow(
      expect.objectContaining({ code: 'RequestTimeTooSkewed' }),
    );
    verifySignature(request, credentials, new Date(now.getTime() + Math.sign(minutes) * 14 * 60_000));
  });

  test.each([
    ['X-Amz-Expires', '0'],
    ['X-Amz-Expires', '604801'],
    ['X-Amz-Expires', '1e3'],
    ['X-Amz-Date', 'yesterday'],
    ['X-Amz-Algorithm', 'AWS4-HMAC-SHA1'],
    ['X-Amz-Credential', 'x'],
    ['X-Amz-SignedHeaders', ''],
  ])('a presigned URL whose %s is "%s"', (name, value) => {
    const url = presigned('aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404');
    const query = url.query.map(([key, old]): [string, string] => [key, key === name ? value : old]);
    expect(() => verifySignature({ ...url, query }, credentials, now)).toThrow(
      expect.objectContaining({ code: 'AuthorizationQueryParametersError' }),
    );
  });
});

interface Example {
  method?: string;
  rawPath?: string;
  query?: [string, string][];
  headers?: Record<string, string[]>;
  signedHeaders?: string;
  signature: string;
}

function signed(example: Example): SignedRequest {
  const signedHeaders = example.signedHeaders ?? 'host;x-amz-content-sha256;x-amz-date';
  const authorization = `AWS4-HMAC-SHA256 Credential=${scope},SignedHeaders=${signedHeaders},Signature=${example.signature}`;
  const headers = {
    host: ['examplebucket.s3.amazonaws.com'],
    'x-amz-date': ['20130524T000000Z'],
    'x-amz-content-sha256': [emptyHash],
    authorization: [authorization],
    ...example.headers,
  };
  return { method: example.method ?? 'GET', rawPath: example.rawPath ?? '/', query: example.query ?? [], headers };
}

function verify(example: Example) {
  return verifySignature(signed(example), credentials, now);
}

function presigned(signature: string): SignedRequest {
  return {
    method: 'GET',
    rawPath: '/test.txt',
    query: [
      ['X-Amz-Algorithm', 'AWS4-HMAC-SHA256'],
      ['X-Amz-Credential', scope],
      ['X-Amz-Date', '20130524T000000Z'],
      ['X-Amz-Expires', '86400'],
      ['X-Amz-SignedHeaders', 'host'],
      ['X-Amz-Signature', signature],
    ],
    headers: { host: ['examplebucket.s3.amazonaws.com'] },
  };
}

/** In pieces of 1000 bytes, so that every kind of boundary falls into one. */
async function* pieces(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += 1000) yield bytes.subarray(start, start + 1000);
}

async function readAll(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function chunkedBody(signatures: [string, string, string], trailer: string): string {
  return [
    `10000;chunk-signature=${signatures[0]}\r\n${'a'.repeat(65_536)}\r\n`,
    `400;chunk-signature=${signatures[1]}\r\n${'a'.repeat(1024)}\r\n`,
    `0;chunk-signature=${signatures[2]}\r\n${trailer}`,
  ].join('');
}
