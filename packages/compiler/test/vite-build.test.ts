import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'vite';
import { describe, expect, it } from 'vitest';
import { svcPlugin } from '../src/vite-plugin.ts';
import { copyFixture, writeFile } from './_setup.ts';

async function buildFixture(root: string): Promise<string> {
  await build({
    configFile: false,
    root,
    logLevel: 'silent',
    build: {
      ssr: true,
      outDir: 'dist',
      minify: false,
      sourcemap: true,
      rollupOptions: {
        input: { onboard: 'workflows/onboard.workflow.ts' },
        external: ['zod'],
        output: { entryFileNames: '[name].mjs' },
      },
    },
    plugins: [svcPlugin({ root })],
  });
  return join(root, 'dist/onboard.mjs');
}

describe('a built workspace', () => {
  it('leaves the runtime outside under its own name', async () => {
    const code = readFileSync(await buildFixture(copyFixture('good')), 'utf8');
    const imports = Array.from(code.matchAll(/from "([^"]+)"/g), ([, specifier]) => specifier);
    expect(imports.sort()).toEqual(['@svc/runtime', '@svc/runtime/internal', 'zod']);
    expect(code).not.toContain('use step');
  });

  it('runs against whatever runtime stands beside it', async () => {
    const root = copyFixture('good');
    const file = await buildFixture(root);
    const runtime = join(root, 'dist/node_modules/@svc/runtime');
    const exports = { '.': './index.mjs', './internal': './internal.mjs' };
    writeFile(runtime, 'package.json', JSON.stringify({ name: '@svc/runtime', type: 'module', exports }));
    writeFile(runtime, 'index.mjs', 'export const sleep = async () => {};\n');
    const internal = [
      'export const called = [];',
      'export const callStep = (id, fn, impl, self, args) => (called.push(id), (impl ?? factories.get(id)({}, fn)).apply(self, args));',
      'export const registerStep = () => {};',
      'const factories = new Map();',
      'export const registerClosure = (id, factory) => factories.set(id, factory);',
      'export const createClosure = (id, capture = () => ({})) => function step(...args) { return callStep(id, step, factories.get(id)(capture(), step), this, args); };',
      'export const createStep = (id, impl) => function step(...args) { return callStep(id, step, impl, this, args); };',
      'export const markMisplaced = () => {};',
      'export const markWorkflow = () => {};',
    ];
    writeFile(runtime, 'internal.mjs', internal.join('\n'));
    const { onboardWorkflow } = (await import(/* @vite-ignore */ file)) as {
      onboardWorkflow: (input: object) => unknown;
    };
    expect(await onboardWorkflow({ email: 'b' })).toEqual({ id: 'acct-b' });
    const { called } = (await import(/* @vite-ignore */ join(runtime, 'internal.mjs'))) as { called: string[] };
    expect(called).toContain('workflows/onboard.workflow.ts#createAccount');
    expect(called).toContain('lib/mail.ts#sendMail');
  });
});
