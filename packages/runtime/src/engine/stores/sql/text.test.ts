import { assert, constantFrom, nat, oneof, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { fromStoredText, toStoredText } from './text.ts';

test('any string comes back, and what is stored has no NUL and is well formed', () => {
  const anyText = string({ unit: nat(0xffff).map((unit) => String.fromCharCode(unit)) });
  const escapes = string({ unit: constantFrom('\u001a', '\0', '\ud83d', '\ude00', '0', 'a', 'd') });
  assert(
    property(oneof(anyText, escapes), (text) => {
      const stored = toStoredText(text);
      expect(stored).not.toContain('\0');
      expect(Buffer.from(stored, 'utf8').toString('utf8')).toBe(stored);
      expect(fromStoredText(stored)).toBe(text);
    }),
    { numRuns: 2_000 },
  );
});

test('text without such letters is stored as it is', () => {
  const text = '{"a":"é 漢 😀 \\u0000"}\n';
  expect(toStoredText(text)).toBe(text);
});
