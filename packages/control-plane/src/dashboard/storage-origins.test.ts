import { describe, expect, test } from 'vitest';
import { answerFile } from '../pages/serve.ts';
import { createStorageOrigins, toStorageOrigin } from './storage-origins.ts';

const tell = (endpoint: string, { bucket = 'files', forcePathStyle = true } = {}) => ({
  storage: { endpoint, bucket, forcePathStyle },
});
const remote = { now: () => 0, publicUrl: () => 'https://studio.example.com' };

describe('the origin of a storage', () => {
  test.each([
    ['https://s3.example.com', {}, 'https://s3.example.com'],
    ['https://S3.example.com:9000/some/path', {}, 'https://s3.example.com:9000'],
    ['https://s3.example.com', { forcePathStyle: false }, 'https://files.s3.example.com'],
    ['https://10.1.2.3:9000', {}, 'https://10.1.2.3:9000'],
    ['https://[2001:db8::1]:9000', {}, 'https://[2001:db8::1]:9000'],
    ['https://s3.example.com:443', {}, 'https://s3.example.com'],
  ])('%s is told', (endpoint, more, origin) => {
    expect(toStorageOrigin(tell(endpoint, more), { isLocal: false })).toBe(origin);
  });

  test.each([
    ['http://s3.example.com'],
    ['https://*.example.com'],
    ['https://*'],
    ["https://s3.example.com;script-src-elem'self'"],
    ['https://s3.example.com,x'],
    ['javascript:alert(1)'],
    ['data:text/html,x'],
    ['file:///etc/passwd'],
    ['no address'],
    [''],
    ['https://'],
    ['http://127.0.0.1:9000'],
    ['https://127.0.0.1:9000'],
    ['http://a.localhost:9000'],
    ['http://[::1]:9000'],
    [`https://${'a'.repeat(300)}.example.com`],
  ])('%j is none', (endpoint) => {
    expect(toStorageOrigin(tell(endpoint), { isLocal: false })).toBeUndefined();
  });

  test.each([
    ["files;script-src 'unsafe-inline'"],
    ['*'],
    ['a/b'],
    ['a b'],
    ['user@evil.example.com/'],
    ['https:x'],
    ['A?'],
  ])('a bucket %j makes none of it', (bucket) => {
    const told = tell('https://s3.example.com', { bucket, forcePathStyle: false });
    expect(toStorageOrigin(told, { isLocal: false })).toBeUndefined();
  });

  test('this machine is one for a control plane on it alone', () => {
    const told = tell('http://127.0.0.1:9000');
    expect(toStorageOrigin(told, { isLocal: true })).toBe('http://127.0.0.1:9000');
    expect(toStorageOrigin(tell('http://10.1.2.3:9000'), { isLocal: true })).toBeUndefined();
  });

  test.each([[undefined], [null], ['text'], [{}], [{ storage: null }], [{ storage: { endpoint: 1 } }], [[]]])(
    '%j tells none',
    (services) => expect(toStorageOrigin(services, { isLocal: true })).toBeUndefined(),
  );
});

describe('the origins of storages', () => {
  test('a box that does not answer holds no page up, and the others are updated', async () => {
    const { list } = createStorageOrigins(remote);
    const silent = { id: 'b', url: 'https://b', ask: () => new Promise(() => {}) };
    const boxes = [{ id: 'a', url: 'https://a', ask: async () => tell('https://s3.example.com') }, silent];
    const before = performance.now();
    expect(await list(boxes)).toEqual(['https://s3.example.com']);
    expect(performance.now() - before).toBeLessThan(5_000);
  });

  test('a box is asked once a minute, however many look, and one that fails has not moved', async () => {
    let time = 0;
    let asked = 0;
    const { list } = createStorageOrigins({ ...remote, now: () => time });
    const answers = [tell('https://one.example.com'), undefined, tell('https://two.example.com')];
    const ask = async (): Promise<unknown> => {
      const answer = answers[asked++];
      if (!answer) throw new Error('It is away.');
      return answer;
    };
    const box = { id: 'a', url: 'https://a', ask };
    const all = await Promise.all(Array.from({ length: 20 }, () => list([box])));
    expect([asked, new Set(all.flat())]).toEqual([1, new Set(['https://one.example.com'])]);
    for (const [count, origin] of [
      [2, 'https://one.example.com'],
      [3, 'https://two.example.com'],
    ] as const) {
      time += 60_000;
      await list([box]);
      await expect.poll(() => list([box])).toEqual([origin]);
      expect(asked).toBe(count);
    }
  });

  test('a box that was away is waited for once it is asked again', async () => {
    let time = 0;
    let isAway = true;
    const { list } = createStorageOrigins({ ...remote, now: () => time });
    const ask = async (): Promise<unknown> => {
      if (isAway) throw new Error('It is away.');
      return tell('https://one.example.com');
    };
    const box = { id: 'a', url: 'https://a', ask };
    expect(await list([box])).toEqual([]);
    isAway = false;
    time += 60_000;
    expect(await list([box])).toEqual(['https://one.example.com']);
  });

  test('of many boxes few are asked at once', async () => {
    let [active, most] = [0, 0];
    const { list } = createStorageOrigins(remote);
    const boxes = Array.from({ length: 500 }, (_, at) => ({
      id: String(at),
      url: 'https://a',
      async ask() {
        most = Math.max(most, ++active);
        await new Promise((resolve) => setImmediate(resolve));
        active--;
        return tell(`https://s${at}.example.com`);
      },
    }));
    expect(await list(boxes)).toHaveLength(100);
    expect(most).toBe(16);
  });
});

test('what is no origin comes into no policy, wherever it is named', () => {
  const form = { bytes: Buffer.from(''), etag: '"1"' };
  const file = { type: 'text/html', isHashed: false, forms: { identity: form } };
  const odd = [
    "https://a;script-src 'unsafe-inline'",
    'https://*',
    'https://a b',
    'https://a/path',
    'data:',
    "'self'",
    '*',
  ];
  const { headers } = answerFile(file, new Headers(), {
    connect: [...odd, 'https://a'],
    pictures: [...odd, 'https://p'],
  });
  expect(headers.get('content-security-policy')).toBe(
    "default-src 'self'; connect-src 'self' https://a; img-src 'self' data: https://p; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  );
});
