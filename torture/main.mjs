// @ts-check
/**
 * The full size of what the tests run small: boxes that are killed, paused and cut off while they work. Prints one JSON
 * line each and, at the end, the time it took. Exits 1 when a promise was broken.
 *   node torture/main.mjs [--quick] [name …]     default: all, one after the other, 20 to 30 minutes
 * Those on PostgreSQL need SVC_TEST_DATABASE_URL, those that stop a server root and what .ci/services.sh unpacks.
 */
import { parseArgs } from 'node:util';
import { findServers } from './_servers.mjs';

/** By what they need. */
const NAMES = {
  nothing: ['kill', 'orchestrator', 'serial', 'parked'],
  postgres: ['kill', 'orchestrator', 'serial', 'parked', 'pause', 'partition', 'takeover', 'deploy', 'races'],
  servers: ['restart-postgres', 'flush-redis'],
};

const { values, positionals } = parseArgs({ options: { quick: { type: 'boolean' } }, allowPositionals: true });
const known = new Set(Object.values(NAMES).flat());
const unknown = positionals.find((name) => !known.has(name));
if (unknown !== undefined) {
  console.error(`There is no torture "${unknown}". There are: ${[...known].join(', ')}.`);
  process.exitCode = 1;
} else await runAll(positionals.length > 0 ? positionals : [...known]);

// --- internal ---

/** @param {string[]} names */
async function runAll(names) {
  const begun = performance.now();
  const url = process.env.SVC_TEST_DATABASE_URL;
  for (const name of names) {
    if (NAMES.nothing.includes(name)) await runOne(name, 'sqlite', {});
    if (NAMES.postgres.includes(name))
      if (url) await runOne(name, 'postgres', { url });
      else console.error(`"${name}" on Postgres is left out: SVC_TEST_DATABASE_URL is not set.`);
    if (NAMES.servers.includes(name))
      if (findServers()) await runOne(name, 'postgres', { url });
      else console.error(`"${name}" is left out: it needs root and the servers of .ci/services.sh.`);
  }
  console.log(JSON.stringify({ torture: 'all', seconds: Math.round((performance.now() - begun) / 1_000) }));
}

/**
 * @param {string} name
 * @param {string} store
 * @param {{ url?: string | undefined }} server
 */
async function runOne(name, store, server) {
  const { run, QUICK, FULL } = await import(`./${name}.mjs`);
  const result = await run({ ...(values.quick ? QUICK : FULL), ...server });
  if (result.problems.length > 0) process.exitCode = 1;
  const problems = result.problems.slice(0, 10);
  console.log(JSON.stringify({ torture: name, store, ...result, problems, broken: result.problems.length }));
}
