import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { toCount } from '../../src/ui/count.ts';

test('a number is the same on every screen', () => {
  expect(toCount(12_500)).toBe('12,500');
});

test('no file leaves the look of a number or a time to the browser by itself', () => {
  const folder = join(import.meta.dirname, '../../src');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter((name) => readFileSync(join(folder, name), 'utf8').includes('.toLocaleString()'))).toEqual([]);
});
