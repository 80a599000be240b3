// @ts-check
/**
 * Everything that must hold: build, lint, types, tests. Arguments go to vitest. Types are checked while the tests run.
 * The last line is `<passed> passed, <failed> failed[, <skipped> skipped]`; a phase that fails without naming a test
 * counts as one failure. Exit code 1 when anything failed. Writes its summary to the file that SVC_TEST_SUMMARY names, as JSON.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { runSuite, SUITE, withProjects } from './_suite.mjs';
import { ROOT, binOf, runScript, secondsSince } from './_tool.mjs';

/**
 * @typedef {{ name: string, seconds: string, outcome: 'ok' | 'failed' | 'not run', failures?: string[] }} Phase
 * `failures`: what scripts that failed have said.
 * @typedef {import('./_suite.mjs').Summary & { slowest: string[], heaviest: string[] }} Tests
 */

const CACHE = join(ROOT, 'node_modules/.cache/svc-test');
// Not the compiler whose API the build uses: the same rules, many times faster.
const TSC = binOf('typescript-native', 'tsc');

/** Of so many files is listed what they cost. */
const HEAVIEST = 30;

const vitestArgs = process.argv.slice(2).filter((arg) => arg !== '--');

const [build, lint] = await Promise.all([
  runPhase('build', [['scripts/build.mjs', '--quiet']]),
  runPhase('lint', [[binOf('oxlint'), '--deny-warnings'], [binOf('oxfmt'), '--check'], ['scripts/check-lockfile.mjs']]),
]);
for (const phase of [build, lint]) showFailures(phase);
// After the build, since the playground's demo and the benchmarks import what was built; beside the tests, which wait about
// as long as they work, and behind them in the queue for a core.
const [types, tests] = await Promise.all([
  runPhase(
    'types',
    [
      [TSC, '-p', 'tsconfig.json'],
      [TSC, '-p', 'playground'],
      [TSC, '-p', 'packages/client'],
      [TSC, '-p', 'packages/dashboard'],
    ],
    { nice: 10 },
  ),
  runTests(build.outcome === 'ok'),
]);
// What it has found would be lost among the lines of the tests.
showFailures(types);
await report([build, lint, types, tests.phase], tests.tests);

// --- internal ---

/**
 * Runs scripts one after the other, all of them, and keeps what the failing ones said.
 * @param {string} name
 * @param {[script: string, ...args: string[]][]} commands
 * @param {{ nice?: number }} [options]
 * @returns {Promise<Phase>}
 */
async function runPhase(name, commands, options) {
  const started = performance.now();
  const failures = [];
  for (const [script, ...args] of commands) {
    const { ok, output } = await runScript(script, args, options);
    if (!ok) failures.push(`--- ${name}: ${[basename(script), ...args].join(' ')} failed ---\n${output.trim()}`);
  }
  return { name, seconds: secondsSince(started), outcome: failures.length > 0 ? 'failed' : 'ok', failures };
}

/** @param {Phase} phase */
function showFailures({ failures = [] }) {
  for (const failure of failures) console.log(`\n${failure}\n`);
}

/**
 * @param {boolean} built the end-to-end tests run what was built
 * @returns {Promise<{ phase: Phase, tests: Tests }>}
 */
async function runTests(built) {
  /** @type {Tests} */
  const none = { passed: 0, failures: [], skipped: 0, needs: {}, retried: [], late: [], slowest: [], heaviest: [] };
  if (!built) return { phase: { name: 'tests', seconds: '', outcome: 'not run' }, tests: none };

  const started = performance.now();
  await mkdir(CACHE, { recursive: true });
  const waits = join(CACHE, `${process.pid}.waits`);
  const { ok, ...summary } = await runSuite(withProjects(vitestArgs, SUITE), { ...process.env, SVC_TEST_WAITS: waits });
  const files = readWaits(await readFile(waits, 'utf8').catch(() => ''));
  await rm(waits, { force: true });
  return {
    phase: { name: 'tests', seconds: secondsSince(started), outcome: ok ? 'ok' : 'failed' },
    tests: { ...summary, slowest: listSlowest(files), heaviest: listHeaviest(files) },
  };
}

/**
 * @typedef {import('./_waits.mjs').Waits} Waits
 * @param {string} lines as `_waits.mjs` writes them
 * @returns {Waits[]}
 */
function readWaits(lines) {
  return lines
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/**
 * The five files that took longest, each with what its time went into.
 * @param {Waits[]} files
 */
function listSlowest(files) {
  const slowest = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, 5);
  return slowest.map(({ file, seconds, own, started, beside }) => {
    const work = `works ${own.toFixed(0)} s itself and ${started.toFixed(0)} s in processes it starts`;
    const rest = Math.max(0, seconds - own);
    const wait =
      beside > seconds / 4
        ? `waits ${rest.toFixed(0)} s, mostly for those processes`
        : `waits ${rest.toFixed(0)} s for timers, sockets, the database's thread and its turn on a core`;
    return `${seconds.toFixed(0).padStart(4)} s  ${relative(ROOT, file)}: ${work}, ${wait}`;
  });
}

/**
 * The files that take most of the processors: with fewer of those seconds the whole ends sooner, which it does not when one file
 * waits less.
 * @param {Waits[]} files
 */
function listHeaviest(files) {
  const workOf = (/** @type {Waits} */ { own, started }) => own + started;
  const all = files.reduce((sum, file) => sum + workOf(file), 0);
  const heaviest = files.toSorted((a, b) => workOf(b) - workOf(a)).slice(0, HEAVIEST);
  return [
    `${all.toFixed(0).padStart(5)} s  all`,
    ...heaviest.map((file) => `${workOf(file).toFixed(0).padStart(5)} s  ${relative(ROOT, file.file)}`),
  ];
}

/**
 * @param {Phase[]} phases
 * @param {Tests} tests
 */
async function report(phases, { slowest, heaviest, ...summary }) {
  const { passed, failures, skipped, retried, needs } = summary;
  const lost = phases.filter(
    ({ name, outcome }) => outcome === 'failed' && (name !== 'tests' || failures.length === 0),
  );
  for (const { name, failures: said = [] } of lost) {
    failures.push({ file: '', test: name, message: said.join('\n') || 'failed without naming a test' });
  }
  console.log('');
  for (const { name, seconds, outcome } of phases) console.log(`${name.padEnd(7)}${seconds.padStart(7)} s  ${outcome}`);
  if (slowest.length > 0) console.log(`\nThe slowest files, and what they wait for:\n  ${slowest.join('\n  ')}`);
  if (heaviest.length > HEAVIEST) console.log(`\nSeconds of a processor, by file:\n  ${heaviest.join('\n  ')}`);
  if (retried.length > 0) console.log(`\nFailed, and passed when run again:\n  ${retried.join('\n  ')}`);
  for (const [need, suites] of Object.entries(needs)) {
    console.log(`\nSkipped for want of ${need}:\n  ${suites.join('\n  ')}`);
  }
  if (process.env.SVC_TEST_SUMMARY) await writeFile(process.env.SVC_TEST_SUMMARY, JSON.stringify(summary));
  console.log(`\n${passed} passed, ${failures.length} failed${skipped ? `, ${skipped} skipped` : ''}`);
  process.exitCode = failures.length > 0 ? 1 : 0;
}
