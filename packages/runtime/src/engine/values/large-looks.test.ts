import { describe, expect, test } from 'vitest';
import { encode } from '../serialize.ts';
import { encodeError, encodeResult } from '../run/outcome.ts';
import { errorOf, newJournalPath, useBenches } from '../_setup.ts';
import { isSurelyLarger } from './size.ts';

const MIB = 1_048_576;

/** Plain data that fails the test once more of it is read than a look within the limit needs. */
function countedRows(count: number): { rows: object[]; read: () => number } {
  let reads = 0;
  const row = {};
  const get = () => {
    reads += 1;
    return `row number ${reads} of many: ${'a text '.repeat(20)}`;
  };
  Object.defineProperty(row, 'note', { enumerable: true, get });
  const rows = Array.from({ length: count }, () => Object.defineProperties({}, Object.getOwnPropertyDescriptors(row)));
  return { rows, read: () => reads };
}

describe('what is far too large', () => {
  const open = useBenches();

  test('is refused before all of it is written: a result, an error, the input of a start', async () => {
    const result = countedRows(30_000);
    expect(() => encodeResult(result.rows, 'result', MIB)).toThrow(/result is more than 1048576 bytes/);
    expect(result.read()).toBeLessThan(30_000);

    const error = countedRows(30_000);
    const text = encodeError(Object.assign(new Error('no'), { code: 'declined', rows: error.rows }));
    expect(text.length).toBeLessThan(64_000);
    expect(errorOf({ error: text } as never)).toMatchObject({
      code: 'declined',
      message: expect.stringMatching(/^no… .*more than 1048576/) as string,
    });
    expect(error.read()).toBeLessThan(30_000);

    const input = countedRows(120_000);
    const { create, journal } = await open(newJournalPath(), { main: async () => {} });
    await expect(create('main', input)).rejects.toMatchObject({
      code: 'payload_too_large',
      details: { path: 'input.rows' },
    });
    expect(input.read()).toBeLessThan(120_000);
    expect(await journal.listRuns({}, { limit: 9 })).toStrictEqual([]);
  });

  const shared = { note: 'the same text again and again' };
  const bytes = new ArrayBuffer(9_000);
  const odd = Object.assign([], { 5_000_000: 1 });
  const values: [string, unknown][] = [
    ['one object in many places', Array.from({ length: 20_000 }, () => shared)],
    ['one long text in many places', Array.from({ length: 20_000 }, () => 'a text that is the same in all of them')],
    ['a list with holes', odd],
    ['keys without a value', Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`key ${n}`, undefined]))],
    ['numbers', Array.from({ length: 20_000 }, (_, n) => n % 10)],
    ['views of one buffer', Array.from({ length: 9 }, () => new Uint8Array(bytes))],
    ['parts of one buffer', Array.from({ length: 9 }, (_, n) => new Uint8Array(bytes, n * 99, 99))],
    ['long texts', ['x'.repeat(20_000), 'y'.repeat(20_000), 'x'.repeat(20_000)]],
    ['maps and sets', [new Map(Array.from({ length: 9_000 }, (_, n) => [n, 'x'])), new Set(['a', 'b'])]],
  ];
  test.each(values)('is never found of what is written shorter: %s', (_name, value) => {
    expect(isSurelyLarger(value, encode(value, 'v').length)).toBe(false);
    expect(isSurelyLarger({ a: [value] }, encode({ a: [value] }, 'v').length)).toBe(false);
  });

  test('is found of what leads back to itself, and of a proxy that refuses, as far as it goes', () => {
    const ring: Record<string, unknown> = {};
    ring.self = ring;
    expect(isSurelyLarger(ring, MIB)).toBe(false);
    const refuse = (): never => {
      throw new Error('no');
    };
    expect(isSurelyLarger(new Proxy({}, { ownKeys: refuse, getPrototypeOf: refuse }), MIB)).toBe(false);
  });
});
