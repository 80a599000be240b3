import { defineConfig } from 'tsdown';

// Every dependency stays an import; of the runtime there are only types, resolved from its source by `tsconfig.json`.
export default defineConfig({
  entry: ['src/index.ts'],
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  dts: true,
  sourcemap: false,
});
