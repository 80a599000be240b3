import { defineConfig } from 'tsdown';

export default defineConfig({
  entry: ['src/main.ts', 'src/index.ts'],
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  dts: true,
  sourcemap: false,
  // A published package carries the templates; in a checkout they are at the root.
  copy: [{ from: '../../templates', to: 'dist' }],
});
