import { readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { newJournalPath } from '../engine/_setup.ts';
import { createFaultyJournal, FAULTS } from '../engine/stores/faulty.ts';
import { openSqliteJournal } from '../engine/stores/sqlite/journal.ts';
import { createLog } from '../log.ts';
import type { LogRecord } from '../log.ts';
import { newMasterKey } from '../secrets/master-key.ts';
import type { MasterKey } from '../secrets/seal.ts';
import { createKeeper } from './keeper.ts';
import { createLoader } from './loader.ts';
import type { CodeVersion } from '../catalog/catalog.ts';
import { VERSION_BYTES } from './files.ts';

const key = newMasterKey();

const version = (name: string, files: Record<string, string>): CodeVersion => ({
  kind: 'workflow',
  codeHash: `hash of ${name}`,
  entry: {
    name,
    file: `workflows/${name}.ts`,
    exportName: 'run',
    steps: [],
    hasInputSchema: false,
    hasOutputSchema: false,
  },
  compiled: async () => ({
    path: 'main.mjs',
    files: Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text) })),
  }),
});
const ONE = version('one', { 'main.mjs': `export * from './all.mjs';`, 'all.mjs': 'export const run = 1;' });
const TWO = version('two', { 'main.mjs': `export * from './all.mjs'; // 2`, 'all.mjs': 'export const run = 1;' });

async function setup() {
  const path = newJournalPath();
  const journal = await openSqliteJournal({ path });
  onTestFinished(async () => {
    await journal.close();
    await rm(dirname(path), { recursive: true, force: true });
  });
  const faulty = createFaultyJournal(journal);
  const logs: LogRecord[] = [];
  const log = createLog({ level: 'warn', write: (line) => logs.push(JSON.parse(line) as LogRecord) });
  const keeper = (own = key) => createKeeper({ store: faulty.journal.code, key: own, log });
  const refused: string[] = [];
  const openLoader = (own = key, previousKey?: MasterKey) => {
    const loader = createLoader({
      store: journal.code,
      key: own,
      previousKey,
      onRefused: (_key, why) => refused.push(why),
    });
    onTestFinished(() => loader.close());
    return loader;
  };
  return { faulty, folder: dirname(path), keeper, loader: openLoader(), openLoader, logs, refused };
}
const keyOf = ({ codeHash, entry }: CodeVersion) => ({ codeHash, name: entry.name });

test.each(FAULTS.filter((fault) => fault !== 'hang'))(
  'a process that dies at any call (%s) leaves a version whole or not at all, and the next one keeps it',
  async (fault) => {
    let n = 0;
    for (let isOver = false; !isOver;) {
      const { faulty, keeper, loader, refused } = await setup();
      faulty.break(fault, ++n);
      isOver = await keeper()
        .keep([ONE, TWO])
        .then(
          () => true,
          () => false,
        );
      faulty.heal();
      for (const one of [ONE, TWO]) await loader.find(keyOf(one));
      await keeper().keep([ONE, TWO]);
      for (const one of [ONE, TWO]) expect(await loader.find(keyOf(one))).toBeDefined();
      expect(refused).toEqual([]);
    }
    // One look for both; of each, its files are looked for and it is written. The sixth call is not made.
    expect(n).toBe(6);
  },
);

test('of versions that are kept one statement is asked', async () => {
  const { faulty, keeper } = await setup();
  await keeper().keep([ONE, TWO]);
  faulty.break('fail', 1_000);
  await keeper().keep([ONE, TWO]);
  expect(faulty.calls()).toEqual(['code.touch']);
});

test('after a change of the secret key what is served is sealed with the new one', async () => {
  const { faulty, keeper, openLoader, refused } = await setup();
  await keeper().keep([ONE, TWO]);
  const changed = newMasterKey();
  await keeper(changed).keep([ONE]);
  const loader = openLoader(changed);
  expect(await loader.find(keyOf(ONE))).toBeDefined();
  expect(refused).toEqual([]);
  expect(await loader.find(keyOf(TWO))).toBeUndefined();
  expect(refused).toEqual([expect.stringContaining('not written by this box')]);
  faulty.break('fail', 1_000);
  await keeper(changed).keep([ONE]);
  expect(faulty.calls()).toEqual(['code.touch']);
});

test('while the key before is given, what is kept under it is executed, and sealed with the new one', async () => {
  const { keeper, openLoader, refused } = await setup();
  await keeper().keep([ONE, TWO]);
  const changed = newMasterKey();
  expect(await openLoader(changed, key).find(keyOf(TWO))).toBeDefined();
  await keeper(changed).reseal(key);
  for (const one of [ONE, TWO]) expect(await openLoader(changed).find(keyOf(one))).toBeDefined();
  expect(refused).toEqual([]);
  expect(await openLoader(key).find(keyOf(TWO))).toBeUndefined();
});

test('one whose files cannot be written is written at the next try, and nothing of the first is left', async () => {
  const { folder, keeper, loader } = await setup();
  onTestFinished(() => void vi.unstubAllEnvs());
  await keeper().keep([ONE]);
  const found = await loader.find(keyOf(ONE));
  vi.stubEnv('TMPDIR', join(folder, 'gone'));
  await expect(found?.place()).rejects.toThrow('ENOENT');
  vi.stubEnv('TMPDIR', folder);
  expect(await found?.place()).toBeDefined();
  const clash = version('clash', { 'main.mjs': 'export const run = 1;', 'main.mjs/a.mjs': '' });
  await keeper().keep([clash]);
  await expect((await loader.find(keyOf(clash)))?.place()).rejects.toThrow('main.mjs');
  const [made = ''] = (await readdir(folder)).filter((name) => name.startsWith('svc-code-'));
  expect(await readdir(join(folder, made))).toEqual(['1']);
});

test('one that is too large, or whose files are gone, is named once and keeps no other from being kept', async () => {
  const { keeper, loader, logs } = await setup();
  const large = {
    ...ONE,
    codeHash: 'large',
    compiled: async () => ({ path: 'a', files: [{ path: 'a', content: HUGE }] }),
  };
  const gone = { ...ONE, codeHash: 'gone', compiled: () => Promise.reject(new Error('ENOENT')) };
  const one = keeper();
  await one.keep([large, gone, TWO]);
  await one.keep([large, gone, TWO]);
  expect(await loader.find(keyOf(TWO))).toBeDefined();
  expect(logs.map(({ message }) => message)).toEqual([
    expect.stringContaining('67108864 can be kept'),
    expect.stringContaining('cannot be read'),
  ]);
});

const HUGE = { byteLength: VERSION_BYTES + 1 } as Uint8Array;
