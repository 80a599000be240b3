// @ts-check
/**
 * The tests that the suite leaves out, on what has been built: of the kinds that are named with `--project`, otherwise all. Arguments
 * go to vitest. Exit code 1 when anything failed. Writes its summary to the file that SVC_TEST_SUMMARY names, as JSON.
 */
import { writeFile } from 'node:fs/promises';
import { runSuite, SUITE, withProjects } from './_suite.mjs';

const others = SUITE.map((name) => `!${name}`);
const { ok, ...summary } = await runSuite(withProjects(process.argv.slice(2), others));
if (process.env.SVC_TEST_SUMMARY) await writeFile(process.env.SVC_TEST_SUMMARY, JSON.stringify(summary));
process.exitCode = ok ? 0 : 1;
