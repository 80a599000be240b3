import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { spawnModule, spawnServer } from '../../dev-s3/src/_process.ts';
import { BUCKET, KEYS, listFiles, newFolder } from '../../dev-s3/src/_setup.ts';
import { createStorage } from '../src/storage/storage.ts';

const MIB = 1_048_576;
/** Of either end, each in a process of its own, for an object of 256 MiB. */
const MOST_GROWN = { server: 128 * MIB, client: 192 * MIB };
/** For one four times as large: what is measured differs by so much from one time to the next. */
const MOST_MORE = 96 * MIB;

const SCRIPT = `
  import { createHash } from 'node:crypto';
  const storage = module.createStorage(SETTINGS);
  async function* pieces(count, sent) {
    const piece = Buffer.alloc(${MIB});
    for (let number = 0; number < count; number += 1) {
      // No two pieces are the same, and all are said in the same memory: who kept one would keep another.
      sent.update(piece.fill(number + ','));
      yield piece;
    }
  }
  process.stdin.on('data', async (line) => {
    const count = Number(String(line));
    if (count === 0) return;
    const [sent, read] = [createHash('sha256'), createHash('sha256')];
    const put = await storage.put('big.bin', pieces(count, sent));
    await storage.move('big.bin', 'moved.bin', { overwrite: true });
    const { body, size } = await storage.stream('moved.bin');
    for await (const piece of body) read.update(piece);
    console.log(JSON.stringify({ put, size, isSame: read.digest('hex') === sent.digest('hex') }));
  });
`;

test('1 GiB is put as a stream, moved and read back byte for byte, in flat memory', { timeout: 600_000 }, async () => {
  const dir = await newFolder();
  const server = await spawnServer(dir);
  const at = { endpoint: server.url, bucket: BUCKET, region: 'us-east-1', forcePathStyle: true };
  const settings = { ...at, ...KEYS, prefix: 'acme/support/' };
  const entry = fileURLToPath(new URL('../src/storage/storage.ts', import.meta.url));
  const client = await spawnModule(entry, SCRIPT.replace('SETTINGS', JSON.stringify(settings)));
  const peaks = async () => ({ server: await server.readPeakRss(), client: await client.readPeakRss() });
  const storage = createStorage(settings);
  await storage.put('small.bin', 'small');

  const before = await peaks();
  const send = async (mebibytes: number) => {
    client.say(String(mebibytes));
    expect(JSON.parse(await client.readLine())).toEqual({
      put: { key: 'big.bin', size: mebibytes * MIB, etag: expect.stringMatching(new RegExp(`-${mebibytes / 8}$`)) },
      size: mebibytes * MIB,
      isSame: true,
    });
    return peaks();
  };
  const first = await send(256);
  const second = await send(1_024);
  for (const end of ['server', 'client'] as const) {
    const grown = first[end] - before[end];
    const more = second[end] - first[end];
    expect(grown, `by the ${end} for 256 MiB`).toBeLessThan(MOST_GROWN[end]);
    expect(more, `by the ${end} for 1 GiB after that`).toBeLessThan(MOST_MORE);
  }
  expect((await storage.list()).items.map(({ key }) => key)).toEqual(['moved.bin', 'small.bin']);
  // Neither the parts nor the old object are left.
  expect((await listFiles(dir)).length).toBeLessThanOrEqual(3);
});
