// @ts-check
/**
 * Everything that must hold: build, lint, types, tests. Arguments go to vitest. Types are checked while the tests run.
 * The last line is `<passed> passed, <failed> failed[, <skipped> skipped]`; a phase that fails without naming a test
 * counts as one failure. Exit code 1 when anything failed.
 */
import { mkdir, readFile, rm } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { ROOT, binOf, runScript, secondsSince } from './_tool.mjs';

/**
 * @typedef {{ name: string, seconds: string, outcome: 'ok' | 'failed' | 'not run', failures?: string[] }} Phase
 * `failures`: what scripts that failed have said.
 * @typedef {{ passed: number, failed: number, skipped: number, needs: Map<string, string[]>, slowest: string[],
 *   retried: string[] }} Counts
 * `retried`: what failed and passed when it was run again, which only CI does.
 */

const CACHE = join(ROOT, 'node_modules/.cache/svc-test');
// Not the compiler whose API the build uses: the same rules, many times faster.
const TSC = binOf('typescript-native', 'tsc');

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
      [TSC, '-p', 'packages/dashboard'],
    ],
    { nice: 10 },
  ),
  runTests(build.outcome === 'ok'),
]);
// What it has found would be lost among the lines of the tests.
showFailures(types);
report([build, lint, types, tests.phase], tests.counts);

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
 * @returns {Promise<{ phase: Phase, counts: Counts }>}
 */
async function runTests(built) {
  /** @type {Counts} */
  const counts = { passed: 0, failed: 0, skipped: 0, needs: new Map(), slowest: [], retried: [] };
  if (!built) return { phase: { name: 'tests', seconds: '', outcome: 'not run' }, counts };

  const started = performance.now();
  const file = join(CACHE, `${process.pid}.json`);
  await mkdir(CACHE, { recursive: true });
  const waits = join(CACHE, `${process.pid}.waits`);
  const retried = join(CACHE, `${process.pid}.retried`);
  const reporters = ['default', 'json', join(ROOT, 'scripts/_retried.mjs')].map((name) => `--reporter=${name}`);
  reporters.push(`--outputFile.json=${file}`);
  const env = { ...process.env, SVC_TEST_WAITS: waits, SVC_TEST_RETRIED: retried };
  const { ok } = await runScript(binOf('vitest'), ['run', ...reporters, ...vitestArgs], { show: true, env });
  const [text = '', lines = '', again = ''] = await Promise.all(
    [file, waits, retried].map((path) => readFile(path, 'utf8').catch(() => '')),
  );
  for (const path of [file, waits, retried]) await rm(path, { force: true });
  if (text) countTests(JSON.parse(text), counts);
  counts.slowest = listSlowest(lines);
  counts.retried = again.split('\n').filter(Boolean);
  return { phase: { name: 'tests', seconds: secondsSince(started), outcome: ok ? 'ok' : 'failed' }, counts };
}

/**
 * @param {{ testResults: { status: string,
 *   assertionResults: { status: string, ancestorTitles: string[] }[] }[] }} results as vitest's json reporter writes them
 * @param {Counts} counts
 */
function countTests({ testResults }, counts) {
  for (const file of testResults) {
    const failedBefore = counts.failed;
    for (const { status, ancestorTitles } of file.assertionResults) {
      if (status === 'passed') counts.passed++;
      else if (status === 'failed') counts.failed++;
      else {
        counts.skipped++;
        noteNeed(ancestorTitles, counts.needs);
      }
    }
    // A file that could not be loaded, or a hook that threw, names no failed test.
    if (file.status === 'failed' && counts.failed === failedBefore) counts.failed++;
  }
}

/**
 * The five files that took longest, each with what its time went into.
 * @param {string} lines as `_waits.mjs` writes them
 */
function listSlowest(lines) {
  /** @type {import('./_waits.mjs').Waits[]} */
  const files = lines
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
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
 * `describeWhen` puts what a skipped suite lacks in its title.
 * @param {string[]} titles
 * @param {Map<string, string[]>} needs suites by what they need
 */
function noteNeed(titles, needs) {
  for (const title of titles) {
    const [, suite, need] = /^(.*) \[needs (.*)\]$/.exec(title) ?? [];
    if (suite && need) needs.set(need, [...new Set([...(needs.get(need) ?? []), suite])]);
  }
}

/**
 * @param {Phase[]} phases
 * @param {Counts} counts
 */
function report(phases, { passed, failed, skipped, needs, slowest, retried }) {
  const lost = phases.filter(({ name, outcome }) => outcome === 'failed' && (name !== 'tests' || failed === 0)).length;
  const failures = failed + lost;
  console.log('');
  for (const { name, seconds, outcome } of phases) console.log(`${name.padEnd(7)}${seconds.padStart(7)} s  ${outcome}`);
  if (slowest.length > 0) console.log(`\nThe slowest files, and what they wait for:\n  ${slowest.join('\n  ')}`);
  if (retried.length > 0) console.log(`\nFailed, and passed when run again:\n  ${retried.join('\n  ')}`);
  for (const [need, suites] of needs) console.log(`\nSkipped for want of ${need}:\n  ${suites.join('\n  ')}`);
  console.log(`\n${passed} passed, ${failures} failed${skipped ? `, ${skipped} skipped` : ''}`);
  process.exitCode = failures ? 1 : 0;
}
