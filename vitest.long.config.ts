import { configDefaults, defineConfig } from 'vitest/config';
import { base, DEATH_TESTS, LONG_TESTS } from './vitest.config.ts';

/**
 * What `pnpm test` leaves out. `.ci/containers.sh` brings up what the tests of the container stack need; without, they are
 * skipped and say so.
 */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    projects: [
      { extends: true, test: { name: 'deaths', include: DEATH_TESTS, sequence: { groupOrder: 0 } } },
      {
        extends: true,
        test: {
          name: 'long',
          include: LONG_TESTS,
          exclude: [...configDefaults.exclude, ...DEATH_TESTS],
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
