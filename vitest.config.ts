import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { SCRATCH } from './scripts/_scratch.mjs';
import { SHORT_LIVED } from './scripts/_short-lived.mjs';

/**
 * Minutes each, and both cores: a container engine driven, a newcomer's whole way on three Nodes, stores and replicas lost
 * under a deployed box, the site of the docs. They, `DEATH_TESTS` and `PAGE_TESTS` have a config of their own, which CI runs too.
 */
export const LONG_TESTS = [
  ...['stack', 'plane-image', 'published', 'newcomer', 'teams', 'deployed-outages', 'deployed-replicas', 'package'].map(
    (name) => `packages/cli/test/e2e/${name}.test.ts`,
  ),
  'packages/cli/test/site.test.ts',
  'packages/runtime/test/growth-full.test.ts',
  'packages/runtime/test/storage-large.test.ts',
  'packages/cli/test/dev-versions-matrix.test.ts',
  'packages/runtime/test/versions-rolling-matrix.test.ts',
  ...['hostile-large', 'hostile-many', 'opened-dialogs', 'screens-dialogs', 'screens-slow'].map(
    (name) => `packages/dashboard/test/${name}.test.ts`,
  ),
];

/**
 * They end processes and servers over and over, or start a deployed box for each thing they say: a quarter of all the processor
 * time that the tests take. Beside each other, as they wait for most of it.
 */
export const DEATH_TESTS = [
  'packages/*/test/**/*crash*.test.ts',
  ...['outage', 'poison', 'slow-readers', 'torture'].map((name) => `packages/runtime/test/${name}.test.ts`),
  ...['deployed', 'deployed-gate', 'deployed-page', 'deployed-refusals', 'deployed-tables', 'rollover', 'stores'].map(
    (name) => `packages/cli/test/e2e/${name}.test.ts`,
  ),
  'packages/runtime/src/engine/stores/postgres/pooler.test.ts',
];

/**
 * They open pages in a Chromium, whose processes take as much of the machine as those of all other tests of the suite. Where there
 * is none most of each is skipped.
 */
export const PAGE_TESTS = [
  'packages/dashboard/test/*.test.ts',
  'packages/control-plane/test/pages.test.ts',
  ...['browser', 'docs-browser', 'react', 'react-runs', 'wires-in-pages'].map(
    (name) => `packages/runtime/test/${name}.test.ts`,
  ),
];

/**
 * They put another module in place of one of ours, change the process they run in, or start so many that to load what they
 * need is the least of it: each has a process to itself.
 */
const ALONE = [
  'packages/cli/test/e2e/*.test.ts',
  'packages/cli/test/*-transcripts.test.ts',
  ...[
    'dev-talk',
    'docs',
    'history',
    'package',
    'package-offline',
    'packed',
    'payloads',
    'reference',
    'schema-build',
    'schema-deployed',
    'schema-dev',
    'schema-edges',
    'schema-query',
    'schema-types',
    'sdk',
  ].map((name) => `packages/cli/test/${name}.test.ts`),
  'packages/runtime/src/engine/guard/guard.test.ts',
  'packages/runtime/src/engine/stores/sqlite/driver.test.ts',
  'packages/runtime/test/new-room.test.ts',
];

/** Lines are wrapped with the real paths in them, so how long those are is seen: these stay in the usual folder. */
const WRAPPED = ['packages/cli/test/*transcripts.test.ts'];

/** The modules of the runtime are loaded once a worker, not once a file, which took longer than most files run. */
export const SHARED = { isolate: false, env: { TMPDIR: SCRATCH } };

export const base = defineConfig({
  resolve: { conditions: ['svc-source'] },
  ssr: { resolve: { conditions: ['svc-source'] } },
  test: {
    pool: 'forks',
    // Tests make a lot that is garbage at once: the young of it are looked through less often where they have more room.
    execArgv: [...SHORT_LIVED, '--max-semi-space-size=32'],
    // A test waits about as long as it works.
    maxWorkers: availableParallelism() + 2,
    // Two suites and a container engine may share two cores: a limit is there for what hangs, not for what is slow.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // On a machine of others a test may be late once. Whatever passed at its second attempt alone is listed at the end; at a desk
    // nothing is tried again.
    retry: process.env.CI ? 1 : 0,
    globalSetup: ['scripts/_scratch.mjs'],
    setupFiles: ['scripts/_waits.mjs'],
  },
});

export default defineConfig({
  ...base,
  test: {
    ...base.test,
    projects: [
      {
        extends: true,
        test: {
          name: 'alone',
          include: ALONE,
          exclude: [...configDefaults.exclude, ...LONG_TESTS, ...DEATH_TESTS, ...WRAPPED],
          env: { TMPDIR: SCRATCH },
        },
      },
      { extends: true, test: { name: 'alone, wrapped', include: WRAPPED } },
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'playground/test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...LONG_TESTS, ...DEATH_TESTS, ...PAGE_TESTS, ...ALONE],
          ...SHARED,
        },
      },
    ],
  },
});
