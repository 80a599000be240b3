import { defineConfig } from 'tsdown';
import { keepLicences } from '../../scripts/_licences.mjs';

export default defineConfig({
  entry: ['src/index.ts'],
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  dts: true,
  sourcemap: false,
  plugins: [keepLicences()],
});
