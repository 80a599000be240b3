import { configDefaults, defineConfig } from 'vitest/config';
import { SCRATCH } from './scripts/_scratch.mjs';
import {
  base,
  COMMAND_TESTS,
  DEATH_TESTS,
  GROWTH_TESTS,
  LONG_TESTS,
  MATRIX_TESTS,
  PAGE_TESTS,
  SHARED,
  WRAPPED,
} from './vitest.config.ts';

/**
 * What `pnpm test` leaves out, a project for each kind. `.ci/containers.sh` brings up what the tests of the container stack need;
 * without, they are skipped and say so. Where SVC_TEST_DEADLINE is set, in seconds since 1970, nothing begins after it.
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
          name: 'matrices',
          include: MATRIX_TESTS,
          ...SHARED,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'pages',
          include: PAGE_TESTS,
          exclude: [...configDefaults.exclude, ...LONG_TESTS],
          ...SHARED,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'commands',
          include: COMMAND_TESTS,
          exclude: [...configDefaults.exclude, ...LONG_TESTS, ...DEATH_TESTS, ...WRAPPED],
          env: { TMPDIR: SCRATCH },
          sequence: { groupOrder: 2 },
        },
      },
      { extends: true, test: { name: 'commands, wrapped', include: WRAPPED, sequence: { groupOrder: 2 } } },
      { extends: true, test: { name: 'deaths', include: DEATH_TESTS, sequence: { groupOrder: 3 } } },
      // They work all the time, and the others wait for most of theirs: CI runs them beside those.
      { extends: true, test: { name: 'growth', include: GROWTH_TESTS, maxWorkers: 1, sequence: { groupOrder: 4 } } },
      {
        extends: true,
        test: {
          name: 'long',
          include: LONG_TESTS,
          exclude: [...configDefaults.exclude, ...DEATH_TESTS],
          maxWorkers: 1,
          sequence: { groupOrder: 5 },
        },
      },
    ],
  },
});
