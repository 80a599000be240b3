import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { BUCKET, KEYS, listFiles, newFolder, startServer } from '../../dev-s3/src/_setup.ts';
import { createStorage } from '../src/storage/storage.ts';

const MIB = 1_048_576;
const MEBIBYTES = 1_024;
/** Of server and client together, which are in one process here. The object is twice as large. */
const MOST_GROWN = 512 * MIB;

test('1 GiB is put as a stream, moved and read back byte for byte, in flat memory', { timeout: 600_000 }, async () => {
  const dir = await newFolder();
  const { url: endpoint } = await startServer(dir);
  const at = { endpoint, bucket: BUCKET, region: 'us-east-1', forcePathStyle: true };
  const storage = createStorage({ ...at, ...KEYS, prefix: 'acme/support/' });
  const sent = createHash('sha256');
  async function* pieces() {
    const piece = Buffer.alloc(MIB);
    for (let number = 0; number < MEBIBYTES; number += 1) {
      // No two pieces are the same, and none is kept.
      const own = Buffer.from(piece.fill(`${number},`));
      sent.update(own);
      yield own;
    }
  }
  const before = process.memoryUsage().rss;
  let most = before;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 20);
  try {
    const put = await storage.put('big.bin', pieces());
    expect(put).toMatchObject({ size: MEBIBYTES * MIB, etag: expect.stringMatching(/-128$/) });
    await storage.move('big.bin', 'moved.bin');
    const { body, size } = await storage.stream('moved.bin');
    const read = createHash('sha256');
    for await (const piece of body) read.update(piece);
    expect([size, read.digest('hex')]).toEqual([MEBIBYTES * MIB, sent.digest('hex')]);
  } finally {
    clearInterval(watch);
  }
  expect(most - before).toBeLessThan(MOST_GROWN);
  expect((await storage.list()).items.map(({ key }) => key)).toEqual(['moved.bin']);
  // Neither the parts nor the old object are left.
  expect((await listFiles(dir)).length).toBeLessThanOrEqual(2);
});
