// @ts-check
/** What replicas with nothing to do ask of Postgres: statements a second of one, with runs parked and without. A transaction counts as one. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startChild } from './_child.mjs';
import { findObstacle, listStores } from './_engine-stores.mjs';
import { round } from './_stats.mjs';
import { compileWorkflows } from './_workflows.mjs';

const PARKED = 10_000;
const REPLICAS = [1, 4];
const SECONDS = 10;
/** Workers without work look ever more seldom: until they do. */
const SETTLING_MS = 40_000;

/** @param {(line: object) => void} print */
export async function run(print) {
  for (const store of listStores('postgres')) {
    const skipped = findObstacle(store);
    if (skipped) print({ bench: 'idle', store: store.name, skipped });
    else await benchStore(store, print);
  }
}

// --- internal ---

/**
 * @param {import('./_engine-stores.mjs').Store} store
 * @param {(line: object) => void} print
 */
async function benchStore(store, print) {
  const root = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'svc-bench-idle-'));
  const dir = join(root, 'store');
  mkdirSync(dir);
  const { synced: file } = await compileWorkflows(join(root, 'workspace'));
  const { place, close } = await store.open(dir);
  try {
    for (const replicas of REPLICAS) {
      const config = { place: place(`idle_${replicas}`), file, rooms: join(dir, 'rooms') };
      const boxes = Array.from({ length: replicas }, () => startChild('_housekeeping-box.mjs', config));
      try {
        for (const box of boxes) await box.ask('open');
        await wait(SETTLING_MS);
        for (const parked of [0, PARKED]) {
          await boxes[0]?.ask('park', parked);
          const rates = await Promise.all(boxes.map((box) => box.ask('idle', SECONDS)));
          const most = round(Math.max(...rates), 1);
          print({ bench: 'idle', store: store.name, replicas, parked, statements_per_s: most });
        }
      } finally {
        await Promise.all(boxes.map((box) => box.kill()));
      }
    }
  } finally {
    await close();
    rmSync(root, { recursive: true, force: true });
  }
}
