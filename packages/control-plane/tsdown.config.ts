import { fileURLToPath } from 'node:url';
import { defineConfig } from 'tsdown';
import { keepLicences } from '../../scripts/_licences.mjs';
import { buildPages } from '../../scripts/_pages.mjs';

const toPath = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export default defineConfig({
  entry: ['src/index.ts', 'src/dashboard.ts'],
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  dts: true,
  sourcemap: false,
  plugins: [keepLicences(), buildPages({ from: toPath('pages'), to: toPath('dist/pages') })],
  copy: [
    // Served by `svc dev` from here too.
    { from: '../dashboard/dist/dashboard', to: 'dist' },
    // What an image is made of besides the package: see base.Dockerfile in a deploy folder.
    { from: '../../docker/control-plane/svc-control-plane', to: 'dist/container' },
  ],
});
