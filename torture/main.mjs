// @ts-check
/**
 * The full size of what `test` runs small: processes are killed while they work, on SQLite and, where
 * SVC_TEST_DATABASE_URL names one, on a PostgreSQL server with two processes at once. Takes a few minutes.
 *   node torture/main.mjs
 */
import { runKills } from './kill.mjs';

const url = process.env.SVC_TEST_DATABASE_URL;
let failed = false;

await report({ store: 'sqlite', workers: 1 }, runKills({ loops: 50, runs: 20, steps: 10, workers: 1 }));
if (url) {
  const store = /** @type {const} */ ({ store: 'postgres', url, schema: `torture_${process.pid}` });
  await report({ store: 'postgres', workers: 2 }, runKills({ loops: 50, runs: 20, steps: 10, workers: 2, store }));
} else console.error('Postgres is left out: SVC_TEST_DATABASE_URL is not set.');
process.exitCode = failed ? 1 : 0;

// --- internal ---

/**
 * @param {object} what
 * @param {ReturnType<typeof runKills>} running
 */
async function report(what, running) {
  const result = await running;
  failed ||= result.problems.length > 0;
  console.log(JSON.stringify({ torture: 'kill', ...what, ...result }));
}
