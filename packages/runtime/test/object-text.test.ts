import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createObjectText } from '../src/wires/messages/object-text.ts';

function pass(...pieces: string[]): string {
  const object = createObjectText();
  const passed = pieces.map((piece) => object.push(piece));
  return passed.join('') + object.end();
}

const anyPieces = (text: fc.Arbitrary<string>) =>
  fc.tuple(text, fc.array(fc.nat(200), { maxLength: 6 })).map(([whole, cuts]) => {
    const at = [0, ...cuts.map((cut) => Math.min(cut, whole.length)).toSorted((a, b) => a - b), whole.length];
    return { whole, pieces: at.slice(1).map((end, index) => whole.slice(at[index], end)) };
  });
const anyObject = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue());

describe('the text of an object that comes in pieces', () => {
  test('is let through as it is when it is one', () => {
    const text = anyObject.chain((value) => fc.constantFrom(JSON.stringify(value), JSON.stringify(value, null, 2)));
    fc.assert(fc.property(anyPieces(text), ({ whole, pieces }) => void expect(pass(...pieces)).toBe(whole)));
  });

  test('is an object, whatever comes', () => {
    const broken = fc
      .tuple(anyObject, fc.nat(200), fc.string({ unit: 'binary', maxLength: 9 }))
      .map(([value, at, junk]) => {
        const text = JSON.stringify(value);
        return text.slice(0, at) + junk + text.slice(at);
      });
    const cut = fc.tuple(anyObject, fc.nat(200)).map(([value, end]) => JSON.stringify(value).slice(0, end));
    const noise = fc
      .array(fc.constantFrom(...'{}[]":,\\u0e1.-+tn \n'), { maxLength: 30 })
      .map((chars) => chars.join(''));
    fc.assert(
      fc.property(anyPieces(fc.oneof(broken, cut, noise, fc.string({ unit: 'binary' }))), ({ whole, pieces }) => {
        const passed = pass(...pieces);
        const value = JSON.parse(passed) as unknown;
        expect(typeof value === 'object' && value !== null && !Array.isArray(value)).toBe(true);
        expect(passed).toBe(pass(whole));
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    ['', '{}'],
    ['null', '{}'],
    ['[{}]', '{}'],
    ['  {"a": 1}  ', '{"a": 1}'],
    ['{"a":"b', '{"a":"b"}'],
    ['{"a":"b\\', '{"a":"b"}'],
    ['{"a":"\\u00e', '{"a":""}'],
    ['{"a":"x\\y"}', '{"a":"x"}'],
    ['{"a":[1,2', '{"a":[1]}'],
    ['{"a":1,"b":tru', '{"a":1}'],
    ['{"a":1,"b"', '{"a":1}'],
    ['{"a":1,}', '{"a":1}'],
    ['{"a":01}', '{}'],
    ['{"a":{"b":[{}]', '{"a":{"b":[{}]}}'],
    ['{"a":1} and more', '{"a":1}'],
    ["{'a':1}", '{}'],
  ])('of %j is %j', (text, whole) => expect(pass(text)).toBe(whole));

  test('lets a string through as it comes', () => {
    const object = createObjectText();
    expect(['{"path": "', 'one ', 'two'].map(object.push)).toEqual(['{"path": "', 'one ', 'two']);
  });
});
