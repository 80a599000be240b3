// @ts-check
/**
 * The long tests, on what has been built. Arguments go to vitest. Exit code 1 when anything failed. Writes its summary to the
 * file that SVC_TEST_SUMMARY names, as JSON.
 */
import { writeFile } from 'node:fs/promises';
import { runSuite } from './_suite.mjs';

const { ok, ...summary } = await runSuite(['--config', 'vitest.long.config.ts', ...process.argv.slice(2)]);
if (process.env.SVC_TEST_SUMMARY) await writeFile(process.env.SVC_TEST_SUMMARY, JSON.stringify(summary));
process.exitCode = ok ? 0 : 1;
