// @ts-check
/**
 * A runner of vitest for the long tests: what has not begun at SVC_TEST_DEADLINE, in seconds since 1970, is skipped, hooks and
 * all. Appends the files it has cut short to the file that SVC_TEST_LATE names, as a line each.
 */
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { TestRunner } from 'vitest';
import { ROOT } from './_tool.mjs';

const { SVC_TEST_DEADLINE: deadline, SVC_TEST_LATE: target } = process.env;
const ends = deadline ? Number(deadline) * 1_000 : Infinity;

export default class UntilDeadline extends TestRunner {
  /**
   * @override
   * @param {import('vitest').RunnerTestSuite} suite
   */
  async onBeforeRunSuite(suite) {
    await super.onBeforeRunSuite(suite);
    if (suite.mode === 'run' && Date.now() >= ends) skip(suite);
  }

  /**
   * @override
   * @param {import('vitest').RunnerTask} test
   */
  async onBeforeRunTask(test) {
    await super.onBeforeRunTask(test);
    if (test.mode === 'run' && Date.now() >= ends) skip(test);
  }
}

// --- internal ---

/** @type {Set<string>} */
const listed = new Set();

/** @param {import('vitest').RunnerTask} task */
function skip(task) {
  const { filepath } = task.file;
  if (target && !listed.has(filepath)) appendFileSync(target, `${relative(ROOT, filepath)}\n`);
  listed.add(filepath);
  mark(task);
}

/** @param {import('vitest').RunnerTask} task */
function mark(task) {
  task.mode = 'skip';
  if ('tasks' in task) for (const inner of task.tasks) mark(inner);
}
