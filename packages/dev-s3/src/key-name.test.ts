import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { compareKeys, fromFileName, toFileName } from './key-name.ts';

const key = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 60 })
  .filter((text) => Buffer.from(text).toString() === text);

test('every key has a safe name of its own', () => {
  fc.assert(
    fc.property(key, key, (a, b) => {
      const name = toFileName(a);
      expect(name).toMatch(/^[a-z0-9_%-][a-z0-9_.%~-]*$/);
      expect(name.length).toBeLessThanOrEqual(200);
      expect(toFileName(b) === name).toBe(a === b);
      const found = fromFileName(name);
      expect(found === 'unreadable' || found?.key === a).toBe(true);
    }),
  );
});

test.each([
  ['a/../b', 'a%2f..%2fb'],
  ['..', '%2e.'],
  ['.hidden', '%2ehidden'],
  ['Report 1.pdf', '%52eport%201.pdf'],
  ['ü', '%c3%bc'],
  ['\0', '%00'],
])('%j is the file %s', (text, name) => {
  expect(toFileName(text)).toBe(name);
});

test('a long key has a short name that differs from its neighbours', () => {
  const long = 'x'.repeat(1024);
  expect(toFileName(long)).toMatch(/^x{135}~[0-9a-f]{64}$/);
  expect(toFileName(long)).not.toBe(toFileName(`${long.slice(1)}y`));
  expect(fromFileName(toFileName(long))).toBe('unreadable');
});

test.each(['.DS_Store', 'UPPER', 'a b', '%zz', '%ff', ''])('%j is no file of ours', (name) => {
  expect(fromFileName(name)).toBeUndefined();
});

test('keys are ordered by their UTF-8 bytes', () => {
  fc.assert(
    fc.property(key, key, (a, b) => {
      expect(Math.sign(compareKeys(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
  expect(compareKeys('\uFFFD', '\u{1F600}')).toBeLessThan(0);
});
