// @ts-check
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startModelServer } from '../playground/model-server.mjs';
import { askUntil, bootBundle, makeEnv, makeWorkspace, readRss, untilLive } from './_box.mjs';
import { openServer } from './_engine-stores.mjs';
import { median, round } from './_stats.mjs';

const BOOTS = 7;

/**
 * A deployed box on the bundle of the playground, on PostgreSQL and Redis: from the command to the first answer of
 * `/live`, and to the first start of a workflow that is taken. First on an empty database, then on one that has been used.
 * @param {(line: object) => void} print
 */
export async function run(print) {
  const missing = ['SVC_TEST_DATABASE_URL', 'SVC_TEST_KV_URL'].find((name) => !process.env[name]);
  if (missing) return print({ bench: 'boot', skipped: `${missing} is not set` });
  const [model, workspace] = [await startModelServer(), makeWorkspace()];
  try {
    execFileSync(process.execPath, [CLI, 'build'], { cwd: workspace.root, stdio: 'ignore' });
    const bundleDir = join(workspace.root, 'dist/workspace');
    for (const kind of ['first', 'later']) {
      const boots = await measureBoots({ bundleDir, modelUrl: model.url, isFirst: kind === 'first' });
      for (const [name, values] of Object.entries(boots)) {
        const [bench, unit] = [`boot.${kind}_${name}`, name === 'rss' ? 'mb' : 'ms'];
        print({ bench, [unit]: round(median(values)), runs: values.map((value) => round(value)) });
      }
    }
  } finally {
    workspace.remove();
    await model.close();
  }
}

// --- internal ---

const CLI = fileURLToPath(new URL('../packages/cli/bin.mjs', import.meta.url));

/** @param {{ bundleDir: string, modelUrl: string, isFirst: boolean }} options */
async function measureBoots({ bundleDir, modelUrl, isFirst }) {
  /** @type {{ live: number[], start: number[], rss: number[] }} */
  const boots = { live: [], start: [], rss: [] };
  let server = await openServer();
  const env = makeEnv(modelUrl);
  try {
    // One more than is measured, where a used database is wanted.
    for (let i = isFirst ? 0 : -1; i < BOOTS; i++) {
      if (isFirst && i > 0) {
        await server.close();
        server = await openServer();
      }
      const place = server.place('');
      if (place.type !== 'postgres') throw new Error('The server is none.');
      const boot = await measureBoot(bundleDir, { ...env, DATABASE_URL: place.url });
      if (i < 0) continue;
      boots.live.push(boot.live);
      boots.start.push(boot.start);
      boots.rss.push(boot.rss);
    }
  } finally {
    await server.close();
  }
  return boots;
}

/**
 * @param {string} bundleDir
 * @param {Record<string, string>} env
 */
async function measureBoot(bundleDir, env) {
  const box = await bootBundle({ bundleDir, env });
  try {
    const live = await untilLive(box);
    const start = await askUntil(
      () => box.call('/api/workflows/nightly-report/start', { day: 'today' }),
      ({ status }) => status === 202,
    );
    return { live: live - box.startedAt, start: start - box.startedAt, rss: readRss(box.pid) };
  } finally {
    await box.stop();
  }
}
