import { defineConfig } from 'tsdown';

export default defineConfig({
  entry: ['src/index.ts', 'src/host.ts', 'src/internal.ts', 'src/testing.ts'],
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  dts: true,
  sourcemap: false,
  copy: [{ from: 'src/stores/pglite-*.mjs', to: 'dist' }],
});
