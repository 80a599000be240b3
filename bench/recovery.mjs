// @ts-check
/**
 * Seconds from a death until all that it left is under way again, on Postgres, where the leases have minutes to go:
 *   killed     50 runs with two steps each under way, `kill -9` of their replica; another is there
 *   restarted  100 such runs, `kill -9` of all replicas; from the command that starts one again
 *   resumed    500 runs that wait for a resume, `kill -9` of their box, another is started; from the first resume over HTTP to the end of
 *              the last run, also on SQLite: `answered_s` until all resumes were answered
 * On SQLite a box takes all at its boot: `BENCH_PARTS=kill node bench/main.mjs housekeeping`.
 */
import { run as play } from '../torture/takeover.mjs';
import { measureResumes } from './_resumed.mjs';
import { median, round } from './_stats.mjs';

const SIZE = { rounds: 5, runs: 50 };
const PARKED = 500;

/** @param {(line: object) => void} print */
export async function run(print) {
  const url = process.env.SVC_TEST_DATABASE_URL;
  print(await resumed('sqlite'));
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
  print(await resumed('postgres', url));
}

// --- internal ---

/**
 * @param {string} store
 * @param {string} [url]
 */
async function resumed(store, url) {
  /** @type {Awaited<ReturnType<typeof measureResumes>>[]} */
  const rounds = [];
  for (let n = 0; n < SIZE.rounds; n++) rounds.push(await measureResumes({ runs: PARKED, ...(url ? { url } : {}) }));
  const of = (/** @type {'took' | 'answered' | 'cpu'} */ what) => median(rounds.map((one) => one[what]));
  return {
    bench: 'recovery',
    store,
    runs: PARKED,
    resumed_s: round(of('took'), 2),
    answered_s: round(of('answered'), 2),
    cpu_ms_a_resume: round(of('cpu'), 2),
  };
}
