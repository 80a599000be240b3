// @ts-check
/**
 * What the runs named on the command line came to, from the summaries they wrote (`<name>=<file>`): what failed, with its
 * message, what there was no time for, and last `<passed> passed, <failed> failed[, <skipped> skipped]`. Of a newcomer's run only
 * what fails is counted, the rest has been. A run that wrote none counts as one failure.
 */
import { existsSync, readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

/** Lines of a message: a test's first say what differs. */
const LINES = 25;

const runs = process.argv.slice(2).map((given) => {
  const [name = '', file = ''] = given.split('=');
  /** @type {import('../scripts/_suite.mjs').Summary} */
  const lost = {
    passed: 0,
    failures: [{ file: '', test: name, message: 'ended before its tests were counted' }],
    skipped: 0,
    needs: {},
    retried: [],
    late: [],
  };
  return { name, ...(existsSync(file) ? /** @type {typeof lost} */ (JSON.parse(readFileSync(file, 'utf8'))) : lost) };
});
const counted = runs.filter(({ name }) => !name.startsWith('newcomer'));

const retried = runs.flatMap((run) => run.retried.map((line) => `${run.name}: ${line}`));
if (retried.length > 0) console.log(`\nFailed, and passed when run again:\n  ${retried.join('\n  ')}`);
const failures = runs.flatMap((run) => run.failures.map((failure) => ({ run: run.name, ...failure })));
for (const { run, file, test, message } of failures) {
  const lines = stripVTControlCharacters(message).split('\n').slice(0, LINES);
  console.log(`\nFAILED in ${run}: ${[file, test].filter(Boolean).join(': ')}\n  ${lines.join('\n  ')}`);
}
const late = runs.flatMap((run) => run.late.map((file) => `${run.name}: ${file}`));
if (late.length > 0) console.log(`\nNot run, or not to its end, for want of time:\n  ${late.join('\n  ')}`);
const reason = process.env.SVC_TEST_NO_CONTAINERS;
if (reason) console.log(`\nSkipped for want of a container engine: ${reason}`);
const total = (/** @type {'passed' | 'skipped'} */ what) => counted.reduce((sum, run) => sum + run[what], 0);
const skipped = total('skipped');
console.log(`\n${total('passed')} passed, ${failures.length} failed${skipped ? `, ${skipped} skipped` : ''}`);
