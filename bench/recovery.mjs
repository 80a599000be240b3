// @ts-check
/**
 * Seconds from a death until all that it left is under way again, on Postgres, where the leases have minutes to go:
 *   killed     50 runs with two steps each under way, `kill -9` of their replica; another is there
 *   restarted  100 such runs, `kill -9` of all replicas; from the command that starts one again
 * On SQLite a box takes all at its boot: `BENCH_PARTS=kill node bench/main.mjs housekeeping`.
 */
import { run as play } from '../torture/takeover.mjs';
import { median, round } from './_stats.mjs';

const SIZE = { rounds: 5, runs: 50 };

/** @param {(line: object) => void} print */
export async function run(print) {
  const url = process.env.SVC_TEST_DATABASE_URL;
  if (!url) return print({ bench: 'recovery', store: 'postgres', skipped: 'SVC_TEST_DATABASE_URL is not set' });
  const { killed, restarted, problems } = await play({ ...SIZE, url });
  print({
    bench: 'recovery',
    store: 'postgres',
    runs: SIZE.runs,
    killed_s: round(median(killed), 1),
    killed_slowest_s: round(Math.max(...killed), 1),
    restarted_s: round(median(restarted), 1),
    restarted_slowest_s: round(Math.max(...restarted), 1),
    problems,
  });
}
