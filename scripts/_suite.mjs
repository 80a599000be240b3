// @ts-check
/**
 * A run of vitest, counted. Under CI a test that fails is run once more at once, and a file that still fails once more by itself
 * when all the others are done: on a machine of others something may be late. What passed only then is listed. With a deadline
 * (_deadline.mjs) nothing begins after it, but for what is run again: skipped it would look as if it had passed.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { ROOT, binOf, runScript } from './_tool.mjs';

/**
 * @typedef {{ file: string, test: string, message: string }} Failure `test` is empty where a file could not be loaded or a hook
 *   threw.
 * @typedef {{ status: string, fullName: string, ancestorTitles: string[], failureMessages: string[] }} TestResult
 * @typedef {{ name: string, status: string, message: string, startTime: number, endTime: number,
 *   assertionResults: TestResult[] }} FileResult as vitest's json reporter writes it
 * @typedef {{ passed: number, failures: Failure[], skipped: number, needs: Record<string, string[]>, retried: string[],
 *   late: string[] }} Summary
 * `needs`: suites that were skipped, by what they lack. `retried`: what failed and passed when it was run again. `late`: files
 *   that the deadline has cut short.
 */

/** The projects of vitest that `pnpm test` runs. The others have commands of their own. */
export const SUITE = ['alone', 'shared'];

/**
 * Arguments of vitest with those projects, where none is named among them.
 * @param {string[]} args
 * @param {string[]} projects as vitest takes them: `!name` leaves one out
 */
export function withProjects(args, projects) {
  const isNamed = args.some((arg) => arg.startsWith('--project'));
  return isNamed ? args : [...projects.map((name) => `--project=${name}`), ...args];
}

/** A file that took longer is not run again, nor are more files than this: then something is broken, not late. */
const AGAIN = { minutes: 15, files: 8 };

/**
 * @param {string[]} args of vitest
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<Summary & { ok: boolean }>}
 */
export async function runSuite(args, env = process.env) {
  const first = await runVitest(args, env);
  const failed = first.files.filter(({ status }) => status === 'failed');
  const { retried, late } = first;
  const again = process.env.CI && failed.length <= AGAIN.files ? failed.filter(isShort).map(({ name }) => name) : [];
  let { files, ok } = first;
  if (again.length > 0) {
    console.log(`\nRun again by themselves: ${again.map((file) => relative(ROOT, file)).join(', ')}\n`);
    const { SVC_TEST_DEADLINE: _, ...unbounded } = env;
    const second = await runVitest([...optionsOf(args), '--maxWorkers=1', ...again], unbounded);
    const passed = new Map(second.files.filter(({ status }) => status === 'passed').map((file) => [file.name, file]));
    for (const file of failed.filter(({ name }) => passed.has(name))) {
      for (const { test, message } of failuresOf(file))
        retried.push(`${relative(ROOT, file.name)}: ${test || message}`);
    }
    files = files.map((file) => passed.get(file.name) ?? file);
    ok = second.ok && failed.length === again.length;
  }
  return { ...summarise(files), ok, retried, late };
}

// --- internal ---

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{ ok: boolean, files: FileResult[], retried: string[], late: string[] }>}
 */
async function runVitest(args, env) {
  const scratch = await mkdtemp(join(tmpdir(), 'svc-suite-'));
  const [results, retried, late] = ['results.json', 'retried', 'late'].map((name) => join(scratch, name));
  const reporters = ['default', 'json', join(ROOT, 'scripts/_retried.mjs')].map((name) => `--reporter=${name}`);
  const { ok } = await runScript(binOf('vitest'), ['run', ...reporters, `--outputFile.json=${results}`, ...args], {
    show: true,
    env: { ...env, SVC_TEST_RETRIED: retried, SVC_TEST_LATE: late },
  });
  const [text = '', ...lists] = await Promise.all(
    [results, retried, late].map((path) => readFile(path ?? '', 'utf8').catch(() => '')),
  );
  await rm(scratch, { recursive: true });
  const [again = [], cut = []] = lists.map((list) => list.split('\n').filter(Boolean));
  return { ok, files: text ? JSON.parse(text).testResults : [], retried: again, late: cut };
}

/**
 * Without the filters of files among them.
 * @param {string[]} args
 */
function optionsOf(args) {
  const takesNext = (/** @type {string | undefined} */ arg) => arg?.startsWith('-') && !arg.includes('=');
  return args.filter((arg, at) => arg.startsWith('-') || takesNext(args[at - 1]));
}

/** @param {FileResult} file */
function isShort({ startTime, endTime }) {
  return endTime - startTime < AGAIN.minutes * 60_000;
}

/** @param {FileResult} file */
function failuresOf({ name, status, message, assertionResults }) {
  const file = relative(ROOT, name);
  /** @type {Failure[]} */
  const failures = assertionResults
    .filter((test) => test.status === 'failed')
    .map((test) => ({ file, test: test.fullName, message: test.failureMessages.join('\n') }));
  return failures.length > 0 || status !== 'failed' ? failures : [{ file, test: '', message }];
}

/**
 * @param {FileResult[]} files
 * @returns {Omit<Summary, 'retried' | 'late'>}
 */
function summarise(files) {
  const tests = files.flatMap(({ assertionResults }) => assertionResults);
  const skipped = tests.filter(({ status }) => status !== 'passed' && status !== 'failed');
  /** @type {Record<string, string[]>} */
  const needs = {};
  for (const { ancestorTitles } of skipped) noteNeed(ancestorTitles, needs);
  return {
    passed: tests.filter(({ status }) => status === 'passed').length,
    failures: files.flatMap(failuresOf),
    skipped: skipped.length,
    needs,
  };
}

/**
 * `describeWhen` puts what a skipped suite lacks in its title.
 * @param {string[]} titles
 * @param {Record<string, string[]>} needs
 */
function noteNeed(titles, needs) {
  for (const title of titles) {
    const [, suite, need] = /^(.*) \[needs (.*)\]$/.exec(title) ?? [];
    if (suite && need) needs[need] = [...new Set([...(needs[need] ?? []), suite])];
  }
}
