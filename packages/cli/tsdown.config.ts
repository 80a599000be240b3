import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineConfig } from 'tsdown';
import type * as Cli from './src/index.ts';

export default defineConfig({
  entry: ['src/main.ts', 'src/index.ts'],
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  dts: true,
  sourcemap: false,
  // What the verbs of operations are made of: to load the registry for it takes several times as long.
  async onSuccess() {
    const dist = join(import.meta.dirname, 'dist');
    const { listSpecs } = (await import(pathToFileURL(join(dist, 'index.mjs')).href)) as typeof Cli;
    await writeFile(join(dist, 'operations.json'), JSON.stringify(await listSpecs()));
  },
  // A workspace reads the docs of the version it has from here; `svc init` and `svc add` copy the templates.
  copy: [
    { from: '../../templates', to: 'dist' },
    { from: '../../docs/guide', to: 'dist/docs' },
    { from: '../../docs/design', to: 'dist/docs' },
    { from: '../../docs/reference', to: 'dist/docs' },
  ],
});
