import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';

/**
 * Minutes each, and both cores: a container engine driven, a newcomer's whole way on three Nodes, stores and replicas lost
 * under a deployed box. They have a config of their own, which CI runs too.
 */
export const LONG_TESTS = ['stack', 'newcomer', 'deployed-outages', 'deployed-replicas', 'package'].map(
  (name) => `packages/cli/test/e2e/${name}.test.ts`,
);

export default defineConfig({
  resolve: { conditions: ['svc-source'] },
  ssr: { resolve: { conditions: ['svc-source'] } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'playground/test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...LONG_TESTS],
    pool: 'forks',
    // One on two cores otherwise, and a test waits more than it works.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
