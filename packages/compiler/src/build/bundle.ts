import { dirname, join, posix, relative, resolve, sep } from 'node:path';
import type { Plugin, Rolldown } from 'vite';
import { svcPlugin } from '../vite-plugin.ts';
import { resolveOptions } from '../workspace-server.ts';

/** A file of the bundle, its path relative to the bundle's folder. */
export interface BundleFile {
  path: string;
  content: string | Uint8Array;
}

export interface Bundle {
  files: BundleFile[];
  /** Where the module of each input is, by the input's file. */
  paths: Map<string, string>;
  /** All that the module of an input needs to run elsewhere, by the input's file: paths, sorted. */
  parts: Map<string, string[]>;
}

/**
 * Bundles files of the workspace with everything they import. The runtime stays outside: the bundle takes it from the
 * process that loads it, as a module under `svc dev` does. Throws what Vite throws when one of them does not compile.
 * @param sources by path, what modules hold in place of their files
 */
export async function bundleFiles(
  root: string,
  files: readonly string[],
  sources?: ReadonlyMap<string, string>,
): Promise<Bundle> {
  if (files.length === 0) return { files: [], paths: new Map(), parts: new Map() };
  const { build } = await import('vite');
  const output = await build({
    root,
    configFile: false,
    envFile: false,
    logLevel: 'silent',
    clearScreen: false,
    cacheDir: join(root, '.svc/cache/vite'),
    plugins: [...(sources ? [readFrom(sources)] : []), svcPlugin({ root, runtimeGlobal: true })],
    // Where the bundle runs there are no packages.
    ssr: { noExternal: true, target: 'node' },
    resolve: resolveOptions(root),
    build: {
      ssr: true,
      write: false,
      target: 'node20.18',
      outDir: join(root, ASSUMED_OUT),
      sourcemap: true,
      minify: false,
      copyPublicDir: false,
      rolldownOptions: {
        input: Object.fromEntries(files.map((file) => [toInputName(file), join(root, file)])),
        // The comments would name where packages lie on this machine.
        experimental: { attachDebugInfo: 'none' },
        output: {
          format: 'esm',
          entryFileNames: '[name]-[hash].mjs',
          chunkFileNames: 'chunks/[name]-[hash].mjs',
          assetFileNames: 'assets/[name]-[hash][extname]',
          sourcemapPathTransform: (source, map) => toStableSource(root, source, map),
        },
      },
    },
  });
  return toBundle(root, output as Rolldown.RolldownOutput);
}

// --- internal ---

/** A module that is gone from the disk is found by the path that names it, as the ones there are would be. */
function readFrom(sources: ReadonlyMap<string, string>): Plugin {
  return {
    name: 'svc-sources',
    enforce: 'pre',
    resolveId(source, importer) {
      if (importer === undefined) return sources.has(source) ? source : undefined;
      if (!source.startsWith('.')) return undefined;
      const [path = '', query] = source.split('?');
      const target = resolve(dirname(importer.replace(/\?.*/, '')), path)
        .split(sep)
        .join('/');
      const asked = query === undefined ? '' : `?${query}`;
      return ENDINGS.map((ending) => `${target}${ending}${asked}`).find((id) => sources.has(id));
    },
    load: (id) => sources.get(id),
  };
}

const ENDINGS = ['', '.ts', '.tsx', '.mts', '.js', '.mjs', '.json', '/index.ts', '/index.js'];

/** Maps are written as if the bundle lay here, so that they are the same wherever it is put. */
const ASSUMED_OUT = 'dist/workspace';

/** `workflows/greet.workflow.ts` → `workflows/greet`, `deep-agents/support/index.ts` → `deep-agents/support`. */
function toInputName(file: string): string {
  return file.replace(/(?:\.workflow|\/index)?\.[mc]?tsx?$/, '');
}

/**
 * A source as the bundle's folder would hold it: `workflows/greet.workflow.ts` beside the bundle's own files, a package
 * by its place under `node_modules`. Nothing of where this machine keeps either.
 */
function toStableSource(root: string, source: string, map: string): string {
  const path = resolve(dirname(map), source).split(sep).join('/');
  const inside = relative(root, path).split(sep).join('/');
  const stable = path.includes('/node_modules/')
    ? path.slice(path.lastIndexOf('/node_modules/') + 1)
    : inside.replace(/^(?:\.\.\/)+/, '');
  const folder = relative(join(root, ASSUMED_OUT), dirname(map)).split(sep).join('/');
  return posix.relative(folder, stable);
}

function toBundle(root: string, { output }: Rolldown.RolldownOutput): Bundle {
  const paths = new Map<string, string>();
  const files = output.map((one): BundleFile => {
    if (one.type === 'asset') return { path: one.fileName, content: one.source };
    if (one.isEntry && one.facadeModuleId)
      paths.set(relative(root, one.facadeModuleId).split(sep).join('/'), one.fileName);
    return { path: one.fileName, content: one.code };
  });
  const parts = new Map([...paths].map(([file, path]) => [file, listParts(output, path)]));
  return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), paths, parts };
}

/** A module, what it imports at once and on demand, what these refer to, and their maps. */
function listParts(output: Rolldown.RolldownOutput['output'], path: string): string[] {
  const byName = new Map(output.map((one) => [one.fileName, one]));
  const parts = new Set<string>();
  const pending = [path];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const one = byName.get(name);
    if (!one || parts.has(name)) continue;
    parts.add(name);
    pending.push(`${name}.map`);
    if (one.type === 'chunk') pending.push(...one.imports, ...one.dynamicImports, ...listReferences(one, byName));
  }
  return [...parts].sort();
}

/** The assets that the text of a chunk names. */
function listReferences({ code }: Rolldown.OutputChunk, byName: ReadonlyMap<string, { type: string }>): string[] {
  return [...byName].flatMap(([name, { type }]) =>
    type === 'asset' && code.includes(posix.basename(name)) ? [name] : [],
  );
}
