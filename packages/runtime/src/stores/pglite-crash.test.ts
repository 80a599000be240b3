import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, expect, it } from 'vitest';
import { getPackageFile } from './package-file.ts';
import { openPglite } from './pglite.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-crash-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('finds every acknowledged row again after kill -9', async () => {
  const dataDir = join(folder, 'db');
  const acknowledged = await insertUntilKilled(dataDir, 300);
  expect(acknowledged).toBeGreaterThanOrEqual(300);
  const client = openPglite({ dataDir });
  const rows = await client.query<{ n: number }>('select n from counted order by n');
  await client.close();
  // One more may be stored than was acknowledged: it was killed in between.
  expect(rows.length - acknowledged).toBeGreaterThanOrEqual(0);
  expect(rows.length - acknowledged).toBeLessThanOrEqual(1);
  expect(rows.map(({ n }) => n)).toEqual(rows.map((_, index) => index + 1));
});

/** Answers the last number the process printed before it was killed. */
async function insertUntilKilled(dataDir: string, count: number): Promise<number> {
  const child = spawn(process.execPath, [getPackageFile('test/fixtures/insert-rows.mjs'), dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let last = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    last = Number(line);
    if (last === count) child.kill('SIGKILL');
  }
  return last;
}
