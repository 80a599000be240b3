// @ts-check
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * Writes a workflow file for each durability and compiles them as a build would. Answers the compiled files; what they
 * import is the runtime's build.
 * @param {string} dir
 * @returns {Promise<Record<'synced' | 'process', string>>}
 */
export async function compileWorkflows(dir) {
  mkdirSync(join(dir, 'workflows'), { recursive: true });
  const { svcPlugin } = await import('../packages/compiler/dist/index.mjs');
  const require = createRequire(join(ROOT, 'packages/compiler/package.json'));
  const { build } = await import(pathToFileURL(require.resolve('vite')).href);
  await build({
    root: dir,
    configFile: false,
    logLevel: 'silent',
    plugins: [svcPlugin({ root: dir })],
    build: {
      ssr: true,
      outDir: join(dir, 'out'),
      rollupOptions: {
        input: { synced: writeWorkflow(dir, 'synced'), process: writeWorkflow(dir, 'process') },
        external: /^@svc\/runtime/,
        output: {
          entryFileNames: '[name].mjs',
          paths: { '@svc/runtime': runtime('index'), '@svc/runtime/internal': runtime('internal') },
        },
      },
    },
  });
  return { synced: join(dir, 'out/synced.mjs'), process: join(dir, 'out/process.mjs') };
}

// --- internal ---

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** @param {string} name */
function runtime(name) {
  return pathToFileURL(join(ROOT, `packages/runtime/dist/${name}.mjs`)).href;
}

/**
 * @param {string} dir
 * @param {'synced' | 'process'} durability
 */
function writeWorkflow(dir, durability) {
  const file = join(dir, `workflows/${durability}.workflow.ts`);
  writeFileSync(
    file,
    `import { sleep } from '@svc/runtime';
export const durability = '${durability}';
export async function steps({ count }: { count: number }) {
  'use workflow';
  let sum = 0;
  for (let i = 0; i < count; i++) sum = await add(sum, 1);
  return sum;
}
export async function nap({ ms }: { ms: number }) {
  'use workflow';
  const before = await add(1, 1);
  await sleep(ms);
  return add(before, 1);
}
export async function fire() {
  'use workflow';
  return 1;
}
/** Is under way until its process ends. */
export async function hold() {
  'use workflow';
  return begin();
}
async function begin() {
  'use step';
  const process = globalThis as { benchBegun?: number };
  process.benchBegun = (process.benchBegun ?? 0) + 1;
  await new Promise((resolve) => setTimeout(resolve, 3_600_000));
}
async function add(a: number, b: number) {
  'use step';
  return a + b;
}
`,
  );
  return file;
}
