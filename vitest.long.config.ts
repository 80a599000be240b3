import { configDefaults, defineConfig } from 'vitest/config';
import { base, DEATH_TESTS, LONG_TESTS, PAGE_TESTS, SHARED } from './vitest.config.ts';

/** It works all the time, and the others wait for most of theirs: CI runs it beside them. */
const GROWTH = 'packages/runtime/test/growth-full.test.ts';

/**
 * What `pnpm test` leaves out. `.ci/containers.sh` brings up what the tests of the container stack need; without, they are
 * skipped and say so. Where SVC_TEST_DEADLINE is set, in seconds since 1970, nothing begins after it.
 */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    runner: 'scripts/_deadline.mjs',
    projects: [
      {
        extends: true,
        test: {
          name: 'pages',
          include: PAGE_TESTS,
          exclude: [...configDefaults.exclude, ...LONG_TESTS],
          ...SHARED,
          sequence: { groupOrder: 0 },
        },
      },
      { extends: true, test: { name: 'deaths', include: DEATH_TESTS, sequence: { groupOrder: 1 } } },
      { extends: true, test: { name: 'growth', include: [GROWTH], maxWorkers: 1, sequence: { groupOrder: 2 } } },
      {
        extends: true,
        test: {
          name: 'long',
          include: LONG_TESTS,
          exclude: [...configDefaults.exclude, ...DEATH_TESTS, GROWTH],
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
