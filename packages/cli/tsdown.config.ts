import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineConfig } from 'tsdown';
import { keepLicences } from '../../scripts/_licences.mjs';
import type * as Cli from './src/index.ts';

const DRIZZLE_KIT = ['drizzle-kit'];
const TAR_STREAM = ['tar-stream', 'streamx', 'fast-fifo', 'b4a', 'text-decoder', 'events-universal'];
/** On the way to every help: to look for four packages takes longer than to read them. */
const STRING_WIDTH = ['string-width', 'emoji-regex', 'get-east-asian-width', 'strip-ansi', 'ansi-regex'];

export default defineConfig({
  entry: { main: 'src/main.ts', index: 'src/index.ts', quick: 'src/complete/quick.ts' },
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  dts: true,
  sourcemap: false,
  // Their own dependencies, several esbuilds among them, weigh 80 MB and are not needed for what is called of them.
  deps: {
    onlyBundle: [...DRIZZLE_KIT, ...TAR_STREAM, ...STRING_WIDTH],
    // drizzle-kit imports every driver there is where it opens a database, which it is never asked to.
    neverBundle: (id, from) => /\/drizzle-kit\//.test(from ?? '') && !id.startsWith('.'),
  },
  plugins: [keepLicences()],
  // What the verbs of operations are made of, and what completion knows: to load both takes several times as long.
  async onSuccess() {
    const dist = join(import.meta.dirname, 'dist');
    const { listSpecs, readOutline, TREE } = (await import(pathToFileURL(join(dist, 'index.mjs')).href)) as typeof Cli;
    await writeFile(join(dist, 'operations.json'), JSON.stringify(await listSpecs()));
    await writeFile(join(dist, 'outline.json'), JSON.stringify(await readOutline(TREE)));
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
