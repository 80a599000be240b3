import { configDefaults, defineConfig } from 'vitest/config';
import base, { CONTAINER_TESTS } from './vitest.config.ts';

/** What `pnpm test` leaves out. `.ci/containers.sh` brings up what it needs; without, it is skipped and says so. */
export default defineConfig({
  ...base,
  test: { ...base.test, include: [CONTAINER_TESTS], exclude: configDefaults.exclude },
});
