import { defineConfig } from 'tsdown';

export default defineConfig({
  entry: ['src/index.ts', 'src/react.ts'],
  format: 'esm',
  platform: 'neutral',
  fixedExtension: true,
  target: 'es2022',
  dts: true,
  sourcemap: false,
});
