import { configDefaults, defineConfig } from 'vitest/config';
import { base, LONG_TESTS } from './vitest.config.ts';

/**
 * What `pnpm test` leaves out. `.ci/containers.sh` brings up what the tests of the container stack need; without, they are
 * skipped and say so.
 */
export default defineConfig({
  ...base,
  test: { ...base.test, include: [...LONG_TESTS], exclude: configDefaults.exclude, maxWorkers: 1 },
});
