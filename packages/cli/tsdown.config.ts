import { defineConfig } from 'tsdown';

export default defineConfig({
  entry: ['src/main.ts', 'src/index.ts'],
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  dts: true,
  sourcemap: false,
  // A workspace reads the docs of the version it has from here; `svc init` and `svc add` copy the templates.
  copy: [
    { from: '../../templates', to: 'dist' },
    { from: '../../docs/guide', to: 'dist/docs' },
    { from: '../../docs/reference', to: 'dist/docs' },
  ],
});
