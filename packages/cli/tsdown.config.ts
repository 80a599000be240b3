import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineConfig } from 'tsdown';
import type * as Cli from './src/index.ts';

export default defineConfig({
  entry: { main: 'src/main.ts', index: 'src/index.ts', quick: 'src/complete/quick.ts' },
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  dts: true,
  sourcemap: false,
  // What the verbs of operations are made of, and what completion knows: to load both takes several times as long.
  async onSuccess() {
    const dist = join(import.meta.dirname, 'dist');
    const { listSpecs, readOutline } = (await import(pathToFileURL(join(dist, 'index.mjs')).href)) as typeof Cli;
    await writeFile(join(dist, 'operations.json'), JSON.stringify(await listSpecs()));
    await writeFile(join(dist, 'outline.json'), JSON.stringify(await readOutline()));
  },
  // A workspace reads the docs of the version it has from here; `svc init` and `svc add` copy the templates; `svc
  // complete` prints the scripts.
  copy: [
    ...['bash', 'zsh', 'fish'].map((shell) => ({ from: `src/complete/svc.${shell}`, to: 'dist' })),
    { from: '../../templates', to: 'dist' },
    { from: '../../docs/guide', to: 'dist/docs' },
    { from: '../../docs/design', to: 'dist/docs' },
    { from: '../../docs/reference', to: 'dist/docs' },
  ],
});
