import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { frameOf } from './code-frame.ts';

function write(text: string): string {
  const root = mkdtempSync(join(tmpdir(), 'svc-frame-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, 'a.ts'), text);
  return root;
}

it('shows two lines above and three below, numbers aligned, and a mark where it is', () => {
  const root = write(Array.from({ length: 12 }, (_, at) => `line${at + 1}`).join('\n'));
  expect(frameOf(root, { file: 'a.ts', line: 8, column: 5 }).split('\n')).toEqual([
    '   6 | line6',
    '   7 | line7',
    '>  8 | line8',
    '     |     ^',
    '   9 | line9',
    '  10 | line10',
    '  11 | line11',
  ]);
});

it('keeps a tab before the mark, and ends no line with a space', () => {
  const root = write('\r\n\tcall()\r\n');
  expect(frameOf(root, { file: 'a.ts', line: 2, column: 2 }).split('\n')).toEqual([
    '  1 |',
    '> 2 | \tcall()',
    '    | \t^',
    '  3 |',
  ]);
});

it('of a file that is none has the place alone', () => {
  expect(frameOf(write(''), { file: 'gone.ts', line: 1, column: 1 })).toBe('> 1 |\n    | ^');
});
