// @ts-check
/**
 * A reporter of vitest: appends to the file that SVC_TEST_RETRIED names, as a line each, the tests that failed and passed when
 * they were run again.
 */
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { ROOT } from './_tool.mjs';

const { SVC_TEST_RETRIED: target } = process.env;

export default class Retried {
  /** @param {import('vitest/node').TestCase} test */
  onTestCaseResult(test) {
    if (target === undefined || !test.diagnostic()?.flaky) return;
    appendFileSync(target, `${relative(ROOT, test.module.moduleId)}: ${test.fullName}\n`);
  }
}
