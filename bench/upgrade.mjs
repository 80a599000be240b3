// @ts-check
/**
 * 1,000 open runs that began on 20 versions of a workflow (with zod bundled into it), and a box of a 21st, on Postgres and Redis:
 * its boot, a check of all of them against the newest code, and its memory once runs of all 20 versions go on. Beside it a boot of the
 * same bundle on an empty database.
 *   BENCH_VERSIONS=5 BENCH_RUNS=10 node bench/main.mjs upgrade     versions, and runs of each
 */
import { execFileSync } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startModelServer } from '../playground/model-server.mjs';
import { askUntil, bootBundle, makeEnv, makeWorkspace, readRss, untilLive } from './_box.mjs';
import { openServer } from './_engine-stores.mjs';
import { median, round } from './_stats.mjs';

const VERSIONS = Number(process.env.BENCH_VERSIONS ?? 20);
const RUNS = Number(process.env.BENCH_RUNS ?? 50);
const BOOTS = 5;

/** @param {(line: object) => void} print */
export async function run(print) {
  const missing = ['SVC_TEST_DATABASE_URL', 'SVC_TEST_KV_URL'].find((name) => !process.env[name]);
  if (missing) return print({ bench: 'upgrade', skipped: `${missing} is not set` });
  const [model, workspace, server, empty] = [
    await startModelServer(),
    makeWorkspace(),
    await openServer(),
    await openServer(),
  ];
  const versions = { versions: VERSIONS, runs: VERSIONS * RUNS };
  try {
    const env = makeEnv(model.url);
    const bundles = Array.from({ length: VERSIONS + 1 }, (_, n) => build(workspace.root, n + 1));
    const newest = String(bundles.at(-1));
    const on = (/** @type {typeof server} */ { place }, /** @type {string} */ bundleDir) => {
      const store = place('');
      if (store.type !== 'postgres') throw new Error('The server is none.');
      return bootBundle({ bundleDir, env: { ...env, DATABASE_URL: store.url } });
    };
    for (const [n, bundle] of bundles.slice(0, -1).entries()) await park(await on(server, bundle), n);

    for (const [bench, place] of /** @type {const} */ ([
      ['upgrade.boot_empty', empty],
      ['upgrade.boot', server],
    ])) {
      /** @type {number[]} */
      const boots = [];
      // The first keeps what it serves, and is not counted.
      for (let i = -1; i < BOOTS; i++) {
        const box = await on(place, newest);
        const live = await untilLive(box);
        if (i >= 0) boots.push(live - box.startedAt);
        await box.stop();
      }
      print({
        bench,
        ms: round(median(boots)),
        boots: boots.map((ms) => round(ms)),
        ...(place === server ? versions : {}),
      });
    }

    const box = await on(server, newest);
    try {
      await untilLive(box);
      const before = readRss(box.pid);
      const began = performance.now();
      const counts = await check(box);
      print({ bench: 'upgrade.check', ms: round(performance.now() - began), ...versions, ...counts });
      const checked = readRss(box.pid);
      const resumed = performance.now();
      for (let n = 0; n < VERSIONS; n++) await resume(box, n, 0);
      await untilCount(box, 'completed', VERSIONS);
      const loaded = readRss(box.pid);
      print({
        bench: 'upgrade.load',
        ms: round((performance.now() - resumed) / VERSIONS),
        unit: 'a version',
        ...versions,
      });
      print({
        bench: 'upgrade.memory',
        mb_per_version: round((loaded - checked) / VERSIONS, 1),
        mb: { boot: round(before), checked: round(checked), loaded: round(loaded) },
        ...versions,
      });
    } finally {
      await box.stop();
    }
  } finally {
    workspace.remove();
    await Promise.all([server.close(), empty.close()]);
    await model.close();
  }
}

// --- internal ---

const CLI = fileURLToPath(new URL('../packages/cli/bin.mjs', import.meta.url));

/** @typedef {Awaited<ReturnType<typeof bootBundle>>} Box */

/**
 * Answers the folder of the bundle.
 * @param {string} root
 * @param {number} version
 */
function build(root, version) {
  writeFileSync(
    join(root, 'workflows/parcel.workflow.ts'),
    `import { createHook } from '@svc/runtime';
import { z } from 'zod';
export const inputSchema = z.object({ parcel: z.string() });
async function pack(parcel: string) { 'use step'; return 'packed ' + parcel; }
async function ship(parcel: string) { 'use step'; return 'shipped ' + parcel + ' by ${version}'; }
export async function parcel(input: z.infer<typeof inputSchema>) {
  'use workflow';
  const packed = await pack(input.parcel);
  await createHook({ token: 'go-' + input.parcel });
  return [packed, await ship(input.parcel)];
}
`,
  );
  execFileSync(process.execPath, [CLI, 'build'], { cwd: root, stdio: 'ignore' });
  const folder = join(root, `bundle-${version}`);
  cpSync(join(root, 'dist/workspace'), folder, { recursive: true });
  return folder;
}

/** @param {Box} box @param {string} path @param {object} [body] */
async function ask(box, path, body) {
  const { status, text } = await box.call(path, body);
  if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
  return JSON.parse(text);
}

/**
 * Runs of the bundle that wait for a resume.
 * @param {Box} box
 * @param {number} version
 */
async function park(box, version) {
  try {
    await untilLive(box);
    for (let n = 0; n < RUNS; n++) {
      await askUntil(
        () => box.call('/api/workflows/parcel/start', { parcel: `${version}-${n}` }),
        ({ status }) => status === 202,
      );
    }
    await untilCount(box, 'waiting', (version + 1) * RUNS);
  } finally {
    await box.stop();
  }
}

/** @param {Box} box @param {string} status @param {number} count */
async function untilCount(box, status, count) {
  await askUntil(
    () => box.call('/api/runs/stats?name=parcel&bucket=day'),
    ({ status: code, text }) => {
      if (code !== 200) return false;
      const { items } = JSON.parse(text);
      return (
        items.reduce((/** @type {number} */ sum, /** @type {any} */ day) => sum + (day.statuses[status] ?? 0), 0) ===
        count
      );
    },
  );
}

/** @param {Box} box @param {number} version @param {number} n */
function resume(box, version, n) {
  return ask(box, `/api/workflows/hooks/go-${version}-${n}/resume`, {});
}

/** @param {Box} box */
async function check(box) {
  const counts = { safe: 0, stops: 0, requests: 0 };
  /** @type {string | null} */
  let cursor = null;
  do {
    const query = cursor ? `&cursor=${encodeURIComponent(cursor)}` : '';
    const page = await ask(box, `/api/upgrade?name=parcel&limit=100${query}`);
    for (const { outcome } of page.items) if (outcome in counts) counts[/** @type {'safe'} */ (outcome)]++;
    counts.requests++;
    cursor = page.nextCursor;
  } while (cursor !== null);
  return counts;
}
