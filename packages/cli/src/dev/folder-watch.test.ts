import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { watchFolder } from './folder-watch.ts';

function makeFolder(...folders: string[]): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-watch-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const folder of folders) mkdirSync(join(root, folder), { recursive: true });
  return root;
}

function startWatch(root: string) {
  const events: string[] = [];
  const blind: string[] = [];
  const watch = watchFolder({
    root,
    onEvent: (event, file) => events.push(`${event} ${file.startsWith(root) ? file.slice(root.length + 1) : file}`),
    onBlind: (folder) => blind.push(folder),
  });
  onTestFinished(() => watch.close());
  return { watch, events, blind, sees: (event: string) => vi.waitFor(() => expect(events).toContain(event)) };
}

describe('watchFolder', () => {
  it('reports files that come, change and go, and is silent about what was there', async () => {
    const root = makeFolder('lib');
    writeFileSync(join(root, 'lib/a.ts'), '1');
    const { events, sees } = startWatch(root);
    writeFileSync(join(root, 'lib/b.ts'), '1');
    await sees('add lib/b.ts');
    writeFileSync(join(root, 'lib/b.ts'), '2');
    await sees('change lib/b.ts');
    rmSync(join(root, 'lib/b.ts'));
    await sees('unlink lib/b.ts');
    expect(events.filter((event) => event.includes('a.ts'))).toEqual([]);
  });

  it('reports every save of a series, however quick: after the last one there is an event', async () => {
    const root = makeFolder();
    const file = join(root, 'a.ts');
    writeFileSync(file, '0');
    const { events } = startWatch(root);
    for (let i = 1; i <= 20; i++) {
      const seen = events.length;
      // Same size, and within one tick of the clock more often than not.
      writeFileSync(file, String(i % 10));
      await vi.waitFor(() => expect(events.length).toBeGreaterThan(seen), { interval: 1 });
    }
  });

  it('reports a save that empties the file first once it is written, and a file that stays empty', async () => {
    const root = makeFolder();
    const file = join(root, 'a.ts');
    writeFileSync(file, '1');
    const sizes: number[] = [];
    const watch = watchFolder({ root, onEvent: () => sizes.push(statSync(file).size), onBlind: () => {} });
    onTestFinished(() => watch.close());
    writeFileSync(file, '');
    setTimeout(() => writeFileSync(file, 'written'), 20);
    await vi.waitFor(() => expect(sizes).toContain(7));
    expect(sizes).not.toContain(0);
    writeFileSync(file, '');
    await vi.waitFor(() => expect(sizes).toContain(0));
  });

  it('reports what lies in a folder that comes, is renamed or goes', async () => {
    const root = makeFolder();
    const { sees } = startWatch(root);
    mkdirSync(join(root, 'one/deep'), { recursive: true });
    writeFileSync(join(root, 'one/deep/a.ts'), '1');
    await sees('add one/deep/a.ts');
    renameSync(join(root, 'one'), join(root, 'two'));
    await sees('unlink one/deep/a.ts');
    await sees('add two/deep/a.ts');
    writeFileSync(join(root, 'two/deep/a.ts'), '2');
    await sees('change two/deep/a.ts');
    rmSync(join(root, 'two'), { recursive: true });
    await sees('unlink two/deep/a.ts');
  });

  it('goes on watching a folder that is replaced by another of the same name', async () => {
    const root = makeFolder('lib');
    writeFileSync(join(root, 'lib/old.ts'), '1');
    const { sees } = startWatch(root);
    rmSync(join(root, 'lib'), { recursive: true });
    mkdirSync(join(root, 'lib'));
    writeFileSync(join(root, 'lib/new.ts'), '1');
    await sees('unlink lib/old.ts');
    await sees('add lib/new.ts');
    writeFileSync(join(root, 'lib/new.ts'), '22');
    await sees('change lib/new.ts');
  });

  it('leaves out node_modules, dist and what begins with a dot', async () => {
    const root = makeFolder('node_modules/x', 'dist', '.svc');
    const { events, sees } = startWatch(root);
    for (const file of ['node_modules/x/a.ts', 'dist/a.ts', '.svc/a.ts', '.env', 'seen.ts'])
      writeFileSync(join(root, file), '1');
    await sees('add seen.ts');
    expect(events).toEqual(['add seen.ts']);
  });

  it('follows a link to a folder under its real path, and none that leads back up', async () => {
    const elsewhere = makeFolder();
    const root = makeFolder('lib');
    symlinkSync(elsewhere, join(root, 'linked'));
    symlinkSync(root, join(root, 'lib/up'));
    const { sees } = startWatch(root);
    writeFileSync(join(elsewhere, 'a.ts'), '1');
    await sees(`add ${join(elsewhere, 'a.ts')}`);
  });

  it('watches a single file outside of the root, and no other beside it', async () => {
    const elsewhere = makeFolder();
    const [asked, other] = [join(elsewhere, 'asked.ts'), join(elsewhere, 'other.ts')];
    writeFileSync(asked, '1');
    const { watch, events, sees } = startWatch(makeFolder());
    watch.addFile(asked);
    writeFileSync(other, '1');
    writeFileSync(asked, '22');
    await sees(`change ${asked}`);
    expect(events.every((event) => event.endsWith('asked.ts'))).toBe(true);
  });
});
