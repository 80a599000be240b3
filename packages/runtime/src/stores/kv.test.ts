import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startProxy } from '../../test/_proxy.ts';
import { until } from '../../test/_setup.ts';
import { describeWhen, realServers } from '../../test/require.ts';
import { createLog } from '../log.ts';
import { describeKeyValueStore } from './kv-contract.ts';
import { createMemoryKv } from './kv-memory.ts';
import type { KeyValueStore } from './kv.ts';
import { openRedisKv } from './kv-redis.ts';

const log = createLog({ level: 'silent', write() {} });

const answers = (kv: KeyValueStore): Promise<boolean> =>
  kv.ping().then(
    () => true,
    () => false,
  );

function holdEventLoop(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

describeKeyValueStore('in memory', () => {
  const kv = createMemoryKv();
  // One memory, as many doors as are opened.
  return { open: () => kv };
});

test('the memory of a process does not grow without end', async () => {
  let now = 0;
  const kv = createMemoryKv(() => now);
  for (let n = 0; n < 25_000; n++) await kv.set(`key ${n}`, 'x', 1_000);
  expect(await kv.get('key 0')).toBeUndefined();
  expect(await kv.get('key 24999')).toBe('x');
  now = 2_000;
  expect(await kv.get('key 24999')).toBeUndefined();
});

describeWhen(realServers.kv, 'Redis', (url) => {
  const open = (address: string, prefix: string = randomUUID(), commandMs?: number) => {
    const kv = openRedisKv({ url: address, prefix, log, commandMs });
    onTestFinished(() => kv.close());
    return kv;
  };

  describeKeyValueStore('Redis', () => {
    const prefix = `test:${randomUUID()}`;
    // Two suites may share two cores: what counts here is the answer.
    return { open: () => openRedisKv({ url, prefix, log, commandMs: 20_000 }) };
  });

  test('boxes of different names neither hear nor count for each other', async () => {
    const [one, other] = [open(url), open(url)];
    const heard: string[] = [];
    await one.subscribe('a', (message) => heard.push(message));
    await one.increment('n', 60_000);
    expect(await other.increment('n', 60_000)).toBe(1);
    await other.publish('a', 'from the other');
    await one.publish('a', 'from the one');
    await until(() => heard.length > 0);
    expect(heard).toEqual(['from the one']);
  });

  test.each(['cut', 'swallow'] as const)(
    'a server that is gone (%s) fails calls within seconds, and serves again',
    async (how) => {
      const proxy = await startProxy(url);
      onTestFinished(() => proxy.close());
      const prefix = randomUUID();
      const [kv, witness] = [open(proxy.url, prefix), open(url, prefix)];
      const heard: string[] = [];
      await kv.subscribe('a', (message) => heard.push(message));
      await until(() => answers(kv));
      proxy[how]();
      await until(async () => !(await answers(kv)));
      const begun = performance.now();
      await expect(kv.increment('n', 1_000)).rejects.toMatchObject({ code: 'store_unavailable' });
      await expect(kv.publish('a', 'lost')).rejects.toMatchObject({ code: 'store_unavailable' });
      expect(performance.now() - begun).toBeLessThan(10_000);
      // Listening may begin while the server is away.
      const late: string[] = [];
      await kv.subscribe('b', (message) => late.push(message));
      proxy.restore();
      await until(() => answers(kv), 20_000);
      await until(async () => {
        await witness.publish('a', 'back');
        await witness.publish('b', 'back');
        return heard.includes('back') && late.includes('back');
      });
      expect(heard).not.toContain('lost');
    },
  );

  test.each([1_300, 1_010])(
    'an answer that came while code held the event loop for %d ms is no late one',
    async (ms) => {
      const kv = open(url);
      const heard: string[] = [];
      await kv.set('key', 'value', 60_000);
      const calls = [
        kv.get('key'),
        kv.increment('n', 60_000),
        kv.ping(),
        kv.subscribe('a', (message) => heard.push(message)),
      ];
      // All is sent; then nothing is read for longer than a command may take.
      await setImmediate();
      holdEventLoop(ms);
      expect((await Promise.all(calls)).slice(0, 2)).toEqual(['value', 1]);
      await kv.publish('a', 'subscribed');
      await until(() => heard.length > 0);
    },
  );

  test('a command that is not answered is given up after its time', async () => {
    const proxy = await startProxy(url);
    onTestFinished(() => proxy.close());
    const kv = open(proxy.url, randomUUID(), 300);
    await until(() => answers(kv));
    proxy.swallow();
    const begun = performance.now();
    await expect(kv.get('key')).rejects.toThrow('The key-value store does not answer: Command timed out');
    expect(performance.now() - begun).toBeGreaterThan(250);
  });

  test.each(['cut', 'swallow'] as const)(
    'a server that was never there (%s) is named in the reason, and served once it comes',
    async (how) => {
      const proxy = await startProxy(url);
      onTestFinished(() => proxy.close());
      proxy[how]();
      const kv = open(proxy.url);
      await expect(kv.ping()).rejects.toThrow(/key-value store does not answer: .+/);
      proxy.restore();
      await until(() => answers(kv), 20_000);
    },
  );
});
