import { configDefaults, defineConfig } from 'vitest/config';

/** Tests that drive a container engine have a config of their own: they take a minute and both cores. */
export const CONTAINER_TESTS = 'packages/cli/test/e2e/stack.test.ts';

export default defineConfig({
  resolve: { conditions: ['svc-source'] },
  ssr: { resolve: { conditions: ['svc-source'] } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'playground/test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, CONTAINER_TESTS],
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
