import { defineConfig } from 'tsdown';

/** The UI of the reference page, and what its licences ask to go with it. */
const REFERENCE_UI = [
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-bundle.js.LICENSE.txt',
  'LICENSE',
  'NOTICE',
];

export default defineConfig({
  entry: ['src/index.ts', 'src/host.ts', 'src/internal.ts', 'src/testing.ts', 'src/operate/client.ts'],
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  dts: true,
  sourcemap: false,
  copy: [
    { from: 'src/stores/pglite-*.mjs', to: 'dist' },
    // Copied rather than depended on: the package asks for one that reports its installs.
    ...REFERENCE_UI.map((file) => ({ from: `node_modules/swagger-ui-dist/${file}`, to: 'dist/docs' })),
  ],
});
