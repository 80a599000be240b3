import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { build } from 'vite';
import { afterAll, beforeAll } from 'vitest';
import { browser } from './_browser.ts';

const CACHE = fileURLToPath(new URL('../node_modules/.cache', import.meta.url));
const BUNDLE_MS = 30_000;

export interface ServedPageOptions {
  /** Of React: in development its strict mode mounts everything twice. Default `production`. */
  mode?: 'development' | 'production';
}

/** A page of these files, as a bundler makes it, on an origin of its own; answers its address. `entry` is one of them. */
export function useServedPage(
  readFiles: () => Promise<Record<string, string>>,
  entry: string,
  { mode = 'production' }: ServedPageOptions = {},
): () => string {
  let script = '';
  let pageUrl = '';
  const server = createServer(({ url = '' }, response) => {
    const isScript = url.startsWith('/main.js');
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(
      isScript
        ? script
        : '<!doctype html><title>Desk</title><div id="root"></div><script type="module" src="/main.js"></script>',
    );
  });

  beforeAll(async () => {
    if (browser.value === undefined) return;
    script = await bundle(await readFiles(), entry, mode);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    pageUrl = `http://localhost:${(server.address() as AddressInfo).port}`;
  }, BUNDLE_MS);
  afterAll(() => void server.close());

  return () => pageUrl;
}

// --- internal ---

async function bundle(files: Record<string, string>, entry: string, mode: string): Promise<string> {
  await mkdir(CACHE, { recursive: true });
  // Below the package, whose dependencies it takes.
  const folder = await mkdtemp(join(CACHE, 'page-'));
  try {
    for (const [name, code] of Object.entries(files)) await writeFile(join(folder, name), code);
    const built = await build({
      root: folder,
      configFile: false,
      logLevel: 'error',
      define: { 'process.env.NODE_ENV': JSON.stringify(mode) },
      oxc: { jsx: { runtime: 'automatic', development: false } },
      build: { write: false, minify: false, lib: { entry, formats: ['es'] } },
    });
    const [{ output }] = built as unknown as [{ output: { code: string }[] }];
    return output[0]?.code ?? '';
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
