import { createRequire } from 'node:module';
import { defineConfig } from 'tsdown';
import { keepLicences } from '../../scripts/_licences.mjs';

/** The UI of the reference page, and what its licences ask to go with it. */
const REFERENCE_UI = [
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-bundle.js.LICENSE.txt',
  'LICENSE',
  'NOTICE',
];

/** What reads HTML and DOCX, and what these ask for: a tenth of what they weigh, as one of them brings its tests along. */
const FILE_READERS = [
  'turndown',
  '@joplin/turndown-plugin-gfm',
  '@mixmark-io/domino',
  'mammoth',
  'lop',
  'option',
  'underscore',
  'dingbat-to-unicode',
  'base64-js',
  '@xmldom/xmldom',
  'xmlbuilder',
  'jszip',
  'lie',
  'immediate',
  'pako',
  'setimmediate',
  'readable-stream',
  'core-util-is',
  'inherits',
  'isarray',
  'process-nextick-args',
  'safe-buffer',
  'string_decoder',
  'util-deprecate',
];

const NAMES = '@opentelemetry/semantic-conventions';

/** Its ES module. The CommonJS beside it, once it is bundled, calls functions by the names of what they make. */
function asModule(name: string): string {
  const exporter = createRequire(import.meta.url).resolve('@opentelemetry/exporter-prometheus');
  return createRequire(exporter)
    .resolve(name)
    .replace(/\.cjs$/, '.mjs');
}

export default defineConfig({
  entry: {
    ...Object.fromEntries(['index', 'host', 'internal', 'testing', 'client'].map((name) => [name, `src/${name}.ts`])),
    'file-worker': 'src/rag/files/file-worker.mjs',
  },
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  dts: true,
  sourcemap: false,
  // A twentieth of what the libraries weigh is ever called; the S3 server is for test boxes alone, which no deployed box
  // is. `@opentelemetry/api` stays an import: it is the workspace's too.
  deps: { onlyBundle: [/^@opentelemetry\/(?!api$)/, '@rgrove/parse-xml', 'lru-cache', '@svc/dev-s3', ...FILE_READERS] },
  plugins: [keepLicences()],
  inputOptions: { resolve: { mainFields: ['module', 'main'], alias: { [NAMES]: asModule(NAMES) } } },
  copy: [
    // What an image is made of besides the package: see base.Dockerfile in a deploy folder.
    ...['boot.mjs', 'healthcheck.mjs', 'make-bucket.mjs', 'svc-box'].map((file) => ({
      from: `../../docker/${file}`,
      to: 'dist/container',
    })),
    { from: 'src/stores/pglite-*.mjs', to: 'dist' },
    // Copied rather than depended on: the package asks for one that reports its installs.
    ...REFERENCE_UI.map((file) => ({ from: `node_modules/swagger-ui-dist/${file}`, to: 'dist/docs' })),
  ],
});
