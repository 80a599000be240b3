import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import type { Plugin } from 'vite';
import { keepLicences } from '../../scripts/_licences.mjs';

/** kB of JavaScript as gzip sends it. A build that has more fails. */
const BUDGET = { firstLoad: 200, chunk: 40, total: 700 };

export default defineConfig({
  root: import.meta.dirname,
  base: '/studio/',
  resolve: { conditions: ['svc-source', 'module', 'browser', 'development|production'] },
  build: {
    outDir: 'dist/dashboard',
    emptyOutDir: true,
    target: 'es2023',
    // Nothing in the text of the page, nor an asset in that of a script: the policy of the page allows neither.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  plugins: [react(), tailwindcss(), keepLicences() as Plugin, checkBudget(), writeTwins()],
});

// --- internal ---

/** What comes first is the entry with all it imports; every other chunk is of a screen, or shared by some. */
function checkBudget(): Plugin {
  return {
    name: 'budget',
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter((one) => one.type === 'chunk');
      const sizes = new Map(
        chunks.map(({ fileName, code }) => [fileName, gzipSync(code, { level: 9 }).length / 1_000]),
      );
      const first = new Set<string>();
      const follow = (name: string): void => {
        if (first.has(name)) return;
        first.add(name);
        for (const next of chunks.find(({ fileName }) => fileName === name)?.imports ?? []) follow(next);
      };
      for (const { isEntry, fileName } of chunks) if (isEntry) follow(fileName);
      const sum = (names: Iterable<string>) => [...names].reduce((all, name) => all + (sizes.get(name) ?? 0), 0);
      const late = [...sizes].filter(([name]) => !first.has(name));
      const faults = [
        ...over('The first load', sum(first), BUDGET.firstLoad),
        ...late.flatMap(([name, size]) => over(`The chunk ${name}`, size, BUDGET.chunk)),
        ...over('All of it', sum(sizes.keys()), BUDGET.total),
      ];
      if (faults.length > 0) this.error(faults.join('\n'));
      const largest = Math.max(0, ...late.map(([, size]) => size));
      this.info(
        `first load ${sum(first).toFixed(1)} kB, largest chunk ${largest.toFixed(1)} kB, all ${sum(sizes.keys()).toFixed(1)} kB (gzip)`,
      );
    },
  };
}

function over(what: string, size: number, limit: number): string[] {
  return size <= limit ? [] : [`${what} has ${size.toFixed(1)} kB of JavaScript (gzip). The most is ${limit} kB.`];
}

/** Each file as gzip and brotli send it, beside it, where that is smaller. */
function writeTwins(): Plugin {
  return {
    name: 'twins',
    apply: 'build',
    writeBundle({ dir = '' }) {
      for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !/\.(?:html|js|css|svg)$/.test(entry.name)) continue;
        const file = join(entry.parentPath, entry.name);
        const bytes = readFileSync(file);
        const twins = {
          '.gz': gzipSync(bytes, { level: 9 }),
          '.br': brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
        };
        for (const [ending, twin] of Object.entries(twins))
          if (twin.length < bytes.length) writeFileSync(file + ending, twin);
      }
    },
  };
}
