import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createWorkspace } from './create.ts';

const newDir = (name: string) => join(mkdtempSync(join(tmpdir(), 'svc-create-')), name);

test('a new workspace has the shell, its name and its ignore file', () => {
  const dir = newDir('My Shop');
  const { name, files } = createWorkspace({ dir });
  expect(name).toBe('my-shop');
  expect(files).toEqual(
    expect.arrayContaining(['.gitignore', 'README.md', 'package.json', 'svc.json', 'tsconfig.json']),
  );
  expect(JSON.parse(readFileSync(join(dir, 'svc.json'), 'utf8'))).toEqual({ slug: 'my-shop' });
  expect(readFileSync(join(dir, 'package.json'), 'utf8')).not.toContain('{{');
  expect(existsSync(join(dir, 'workflows'))).toBe(true);
});

test('a folder that holds something is refused and left as it is', () => {
  const dir = newDir('taken');
  mkdirSync(dir);
  writeFileSync(join(dir, 'notes.txt'), 'mine');
  expect(() => createWorkspace({ dir })).toThrow(/is not empty/);
  expect(readdirSync(dir)).toEqual(['notes.txt']);
});

test('an unusable name is refused before anything is written', () => {
  const dir = newDir('shop');
  expect(() => createWorkspace({ dir, name: 'No Spaces' })).toThrow(/"No Spaces" is not a usable name/);
  expect(existsSync(dir)).toBe(false);
});
