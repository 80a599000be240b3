import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export const FIXTURES = fileURLToPath(new URL('./fixtures/', import.meta.url));
export const PACKAGE = fileURLToPath(new URL('../', import.meta.url));

/** A folder with these files, gone when the test ends. */
export function createWorkspace(files: Record<string, string> = {}): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-compiler-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [file, text] of Object.entries(files)) writeFile(root, file, text);
  return root;
}

/** A copy of a fixture that finds the packages this package is tested with. */
export function copyFixture(name: string): string {
  const root = createWorkspace();
  cpSync(join(FIXTURES, name), root, { recursive: true });
  symlinkSync(join(PACKAGE, 'node_modules'), join(root, 'node_modules'));
  return root;
}

export function writeFile(root: string, file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}
