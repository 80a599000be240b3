import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { SCRATCH } from './scripts/_scratch.mjs';
import { SHORT_LIVED } from './scripts/_short-lived.mjs';

/** Requests are made larger until they are refused, beside a process that is asked all the time whether it lives. */
const GROWTH_TESTS = ['growth', 'growth-full', 'guardrail-hostile'].map(
  (name) => `packages/runtime/test/${name}.test.ts`,
);

/**
 * Minutes each, and both cores: a container engine driven, a newcomer's whole way on three Nodes, stores and replicas lost
 * under a deployed box, the site of the docs. `.ci/containers.sh` brings up what the tests of the container stack need; without,
 * they are skipped and say so. What is in none of the lists here is the suite.
 */
const LONG_TESTS = [
  ...['stack', 'plane-image', 'published', 'newcomer', 'teams', 'deployed-outages', 'deployed-replicas', 'package'].map(
    (name) => `packages/cli/test/e2e/${name}.test.ts`,
  ),
  'packages/cli/test/site.test.ts',
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
const DEATH_TESTS = [
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
const PAGE_TESTS = [
  'packages/dashboard/test/*.test.ts',
  'packages/control-plane/test/pages.test.ts',
  ...['browser', 'docs-browser', 'react', 'react-runs', 'wires-in-pages'].map(
    (name) => `packages/runtime/test/${name}.test.ts`,
  ),
];

/**
 * They start the built command line, `svc dev` or programs of others over and over, build again and again, or try each verb with all
 * that is wrong: as much of a processor as the rest of the suite.
 */
const COMMAND_TESTS = [
  'packages/cli/test/e2e/*.test.ts',
  'packages/cli/test/*-transcripts.test.ts',
  ...[
    'absurd-flags',
    'bad-input',
    'build',
    'complete-shells',
    'dev-{env-file,link,other-workspace,problems,provider,storage,talk,versions}',
    'docs',
    'history',
    'package',
    'package-offline',
    'packed',
    'payloads',
    'reference',
    'sbom',
    'schema-build',
    'schema-deployed',
    'schema-dev',
    'schema-edges',
    'schema-query',
    'schema-types',
    'sdk',
    'terminal',
  ].map((name) => `packages/cli/test/${name}.test.ts`),
  ...['openapi-linters', 'openapi-proxy'].map((name) => `packages/runtime/test/${name}.test.ts`),
];

/**
 * They try everything there is in every way: programs and texts made at random, every fault at each call, every caller at each
 * operation, every edit at each version, and the journal for PostgreSQL on PGlite. What they find, others have mostly found: a
 * fifth of what the suite would take.
 */
const MATRIX_TESTS = [
  ...['engine/faults', 'engine/programs', 'engine/stores/postgres/journal-pglite', 'guardrails/hostile-texts'].map(
    (name) => `packages/runtime/src/${name}.test.ts`,
  ),
  ...[
    'agui-property',
    'chat-completions-chunking',
    'messages-wire-chunking',
    'odd-texts',
    'ownership',
    'upgrade-matrix',
    'versions-matrix',
    'versions-rolling',
  ].map((name) => `packages/runtime/test/${name}.test.ts`),
];

const OTHER_KINDS = [...LONG_TESTS, ...MATRIX_TESTS, ...DEATH_TESTS, ...PAGE_TESTS, ...COMMAND_TESTS, ...GROWTH_TESTS];

/** They put another module in place of one of ours, or change the process they run in: each has one to itself. */
const ALONE = [
  'packages/runtime/src/engine/guard/guard.test.ts',
  'packages/runtime/src/engine/stores/sqlite/driver.test.ts',
  'packages/runtime/test/new-room.test.ts',
];

/** Lines are wrapped with the real paths in them, so how long those are is seen: these stay in the usual folder. */
const WRAPPED = ['packages/cli/test/*transcripts.test.ts'];

/** The modules of the runtime are loaded once a worker, not once a file, which took longer than most files run. */
const SHARED = { isolate: false, env: { TMPDIR: SCRATCH } };

export default defineConfig({
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
    expect: { poll: { timeout: 20_000 } },
    // On a machine of others a test may be late once. Whatever passed at its second attempt alone is listed at the end; at a desk
    // nothing is tried again.
    retry: process.env.CI ? 1 : 0,
    // A module is transformed again once it, the config or the lockfile has changed: some tests at a desk begin in half of the time.
    // One config for all kinds, so that none of them transforms what another has.
    experimental: { fsModuleCache: true },
    globalSetup: ['scripts/_scratch.mjs'],
    setupFiles: ['scripts/_waits.mjs', 'scripts/_polling.mjs'],
    // Where SVC_TEST_DEADLINE is set, in seconds since 1970, nothing begins after it.
    runner: 'scripts/_deadline.mjs',
    // The first two are the suite (SUITE in scripts/_suite.mjs).
    projects: [
      { extends: true, test: { name: 'alone', include: ALONE, env: { TMPDIR: SCRATCH } } },
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'playground/test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...OTHER_KINDS, ...ALONE],
          ...SHARED,
        },
      },
      { extends: true, test: { name: 'matrices', include: MATRIX_TESTS, ...SHARED, sequence: { groupOrder: 1 } } },
      {
        extends: true,
        test: {
          name: 'pages',
          include: PAGE_TESTS,
          exclude: [...configDefaults.exclude, ...LONG_TESTS],
          ...SHARED,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: 'commands',
          include: COMMAND_TESTS,
          exclude: [...configDefaults.exclude, ...LONG_TESTS, ...DEATH_TESTS, ...WRAPPED],
          ...SHARED,
          sequence: { groupOrder: 3 },
        },
      },
      { extends: true, test: { name: 'commands, wrapped', include: WRAPPED, sequence: { groupOrder: 3 } } },
      { extends: true, test: { name: 'deaths', include: DEATH_TESTS, sequence: { groupOrder: 4 } } },
      // They work all the time, and the others wait for most of theirs: CI runs them beside those.
      { extends: true, test: { name: 'growth', include: GROWTH_TESTS, maxWorkers: 1, sequence: { groupOrder: 5 } } },
      {
        extends: true,
        test: {
          name: 'long',
          include: LONG_TESTS,
          exclude: [...configDefaults.exclude, ...DEATH_TESTS],
          maxWorkers: 1,
          sequence: { groupOrder: 6 },
        },
      },
    ],
  },
});
