import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, onTestFinished } from 'vitest';
import { buildWorkspace } from '../../compiler/src/build/build.ts';
import { OPEN } from '../src/auth/strategy.ts';
import { openBundle } from '../src/boot/bundle.ts';
import type { BoxOptions } from '../src/box/options.ts';
import { contractPayload } from '../src/health/contract.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import type { MasterKey } from '../src/secrets/seal.ts';
import type { OpenBox } from './_both.ts';
import { createCluster } from './_cluster.ts';
import { describeWhen, realServers } from './require.ts';
import type { TestBox, TestBoxes } from './_setup.ts';

/** A workspace whose files change, and what each state of them was built to. */
export interface BuiltWorkspace {
  root: string;
  /** What a box of the present files is opened with. The secret key is the same for all. `null` removes a file. */
  build(files?: Record<string, string | null>): Promise<{ options: Partial<BoxOptions>; dir: string }>;
  key: MasterKey;
}

/** Gone when the test ends. */
export function createBuiltWorkspace(): BuiltWorkspace {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-versions-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, 'node_modules'));
  symlinkSync(fileURLToPath(new URL('../node_modules/zod', import.meta.url)), join(root, 'node_modules/zod'));
  const key = newMasterKey();
  let count = 0;
  return {
    root,
    key,
    async build(files = {}) {
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(join(root, file)), { recursive: true });
        if (text === null) rmSync(join(root, file));
        else writeFileSync(join(root, file), text);
      }
      await shareRuntime();
      const dir = join(root, `dist/${++count}`);
      const { version: contract, build } = contractPayload();
      const { failed } = await buildWorkspace({ root, outDir: dir, slug: 'test', runtime: { contract, ...build } });
      if (failed.length > 0) throw new Error(JSON.stringify(failed));
      const { program } = await openBundle(dir);
      return { dir, options: { host: 'image', strategy: OPEN, secretKey: key, loadProgram: async () => program } };
    },
  };
}

/** The same suite on both kinds of journals. Each place is a journal of its own, in which a test opens one box after the other. */
export function describePlaces(boxes: TestBoxes, name: string, suite: (openPlace: () => OpenBox) => void): void {
  describe(`${name}, on SQLite`, () => {
    suite(() => {
      let place: Pick<TestBox, 'journalPath'> | undefined;
      return async (setup) => {
        const box = await boxes.open({ ...setup, ...(place ? { journalPath: place.journalPath } : {}) });
        place ??= box;
        return box;
      };
    });
  });
  describeWhen(realServers.database, `${name}, on Postgres`, (database) => {
    suite(() => {
      const open = createCluster(boxes, { database, kv: '' });
      return (options) => open({ kv: null, ...options });
    });
  });
}

// --- internal ---

/** The build names what the runtime exports, and the modules take it from there. */
async function shareRuntime(): Promise<void> {
  const [index, internal] = await Promise.all([import('../src/index.ts'), import('../src/internal.ts')]);
  const key = Symbol.for('svc.runtime');
  (globalThis as Record<symbol, unknown>)[key] ??= { index, internal };
}
