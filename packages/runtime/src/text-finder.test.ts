import { expect, test } from 'vitest';
import { createTextFinder } from './text-finder.ts';

const show = (wanted: string[], text: string): string => createTextFinder(wanted).replace(text, (part) => `<${part}>`);

test.each([
  [['abc'], 'abcabc xabcx', '<abc><abc> x<abc>x'],
  [['he', 'hers', 'his'], 'ushers his he', 'us<hers> <his> <he>'],
  // Of two that begin at one place, and of two that lie in each other, the longer one.
  [['abcd', 'bc', 'ab'], 'abcd abc xbc', '<abcd> <abc> x<bc>'],
  [['abc', 'de', 'abcdefgh'], 'abcdefgh abcdefg', '<abcdefgh> <abc><de>fg'],
  [['abc', 'cde'], 'abcde', '<abcde>'],
  [['aab'], 'aaaab', 'aa<aab>'],
  [['ä\u{1F511}'], 'xä\u{1F511}y', 'x<ä\u{1F511}>y'],
  [[], 'abc', 'abc'],
  [['abc'], '', ''],
])('%j in "%s"', (wanted, text, shown) => {
  expect(show(wanted, text)).toBe(shown);
});

test('finds what a search for each one finds', () => {
  const letters = 'ab';
  const random = (length: number): string =>
    Array.from({ length }, () => letters[Math.floor(Math.random() * 2)]).join('');
  for (let round = 0; round < 200; round++) {
    const wanted = Array.from({ length: 8 }, () => random(3 + (round % 6)));
    const text = random(60);
    const covered = Array.from(text, (_, at) =>
      wanted.some((one) => {
        for (let from = Math.max(0, at - one.length + 1); from <= at; from++)
          if (text.startsWith(one, from)) return true;
        return false;
      }),
    );
    const expected = Array.from(text, (letter, at) => (covered[at] ? '*' : letter)).join('');
    const found = createTextFinder(wanted).replace(text, (part) => '*'.repeat(part.length));
    expect([wanted, found]).toEqual([wanted, expected]);
  }
});
