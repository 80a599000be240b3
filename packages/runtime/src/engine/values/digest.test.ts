import { describe, expect, test } from 'vitest';
import { newJournalPath, step, useBenches } from '../_setup.ts';
import { digestOf, encode } from '../serialize.ts';
import { registerClass, WORKFLOW_DESERIALIZE, WORKFLOW_SERIALIZE } from './classes.ts';
import { digestOfJson, digestOfValue, isSameDigest } from './digest.ts';

const bench = useBenches();
const digest = (value: unknown) => digestOfValue(value, encode(value, 'input'));

test.each([
  ['members of objects', { a: 1, b: [{ c: 1, d: 2 }] }, { b: [{ d: 2, c: 1 }], a: 1 }],
  ['beside values JSON has not', { at: new Date(0), n: 1n }, { n: 1n, at: new Date(0) }],
  ['names like numbers', { b: 1, 2: 2, 1: 3 }, { 1: 3, 2: 2, b: 1 }],
  [
    'many objects',
    Array.from({ length: 100 }, () => ({ a: 1, b: 2 })),
    Array.from({ length: 100 }, () => ({ b: 2, a: 1 })),
  ],
])('is the same in any order: %s', (_, one, other) => {
  expect(digest(one).digest).toBe(digest(other).digest);
});

test.each([
  ['another value', { a: 1 }, { a: 2 }],
  ['another order of items', [1, 2], [2, 1]],
  ['a hole', [1, undefined, 2], Object.assign(Array.from({ length: 0 }), { 0: 1, 2: 2, length: 3 })],
  ['a map in another order', new Map(Object.entries({ a: 1, b: 2 })), new Map(Object.entries({ b: 2, a: 1 }))],
])('differs for %s', (_, one, other) => {
  expect(digest(one).digest).not.toBe(digest(other).digest);
});

test('is that of the text where that is in order, and says what it was before where it is not', () => {
  expect(digest({ a: 1, b: 2 })).toEqual({ digest: digestOf(encode({ a: 1, b: 2 }, 'input')) });
  expect(digest({ b: 2, a: 1 }).older).toBe(digestOf(encode({ b: 2, a: 1 }, 'input')));
});

test('of JSON text is the same in any order, also of names that the journal refuses', () => {
  const one = '{"__proto__":{"a":1,"b":2},"c":3}';
  expect(digestOfJson(one).digest).toBe(digestOfJson('{"c":3,"__proto__":{"b":2,"a":1}}').digest);
  expect(digestOfJson('{"b":1,"a":2}')).toMatchObject({ older: digestOf('{"b":1,"a":2}') });
  expect(isSameDigest(digestOf('{"b":1,"a":2}'), digestOfJson('{"b":1,"a":2}'))).toBe(true);
});

test('takes an object that holds itself', () => {
  const loop = (keys: string[]) => {
    const made: Record<string, unknown> = {};
    for (const key of keys) made[key] = made;
    return made;
  };
  expect(digest(loop(['a', 'b'])).digest).toBe(digest(loop(['b', 'a'])).digest);
});

/** Its instances are recorded by what its own class says. */
class Money {
  readonly cents: number;
  constructor(cents: number) {
    this.cents = cents;
  }
  static [WORKFLOW_SERIALIZE]({ cents }: Money): object {
    return { cents };
  }
  static [WORKFLOW_DESERIALIZE]({ cents }: { cents: number }): Money {
    return new Money(cents);
  }
  static {
    registerClass(this, 'test.workflow.ts#Money');
  }
}

const failure = () =>
  Object.assign(new TypeError('no', { cause: 'x' }), { stack: 'TypeError: no\n    at a.ts', code: 'E' });
const shared = { n: 1 };

// The digests of journals that are out there: where one of these changes, a release blocks runs that are under way, and
// takes the repeat of a start for another start.
describe('never changes', () => {
  test.each<[name: string, value: unknown, text: string, sorted?: string]>([
    ['nothing', undefined, '14dmnuShA_4LNh_jHBDqA3xy8nw'],
    ['null', null, 'aLgjE-_n67AIizrcF5D6xBrpWYw'],
    ['a text', 'héllo \u{1f600}', 'L-35HGapyW_KQvPd8h_Jy5nOwh0'],
    ['a number', -0.5, 'Fu-Do0VusJ5R7ke_aRjL33COZhs'],
    ['minus nought', -0, '7EAaP-wTU6-TeFY0wW4_bIPDEHU'],
    ['an object in order', { a: 1, b: { c: [1, 'x', null, true] } }, 'PkzQqP8ExOObYgvVGoGeXC1dnfk'],
    [
      'the same in another order',
      { b: { c: [1, 'x', null, true] }, a: 1 },
      'hqBWpUTVqdqNKMDvwIoikcz4iLk',
      'PkzQqP8ExOObYgvVGoGeXC1dnfk',
    ],
    ['names like numbers', { b: 1, 10: 2, 9: 3 }, 'U8NguvydroKltfN66TgpepEeQiw'],
    ['a member that is undefined', { a: undefined, b: 1 }, 'GCxJ3FWT79uAn46TEnyjJjaFTyE'],
    ['a list with a hole', Object.assign([1], { 2: 3 }), 'oATs2ECjYwyCwT-ira_yDESUjt8'],
    [
      'a Map',
      new Map<unknown, unknown>([
        ['k', { b: 1, a: 2 }],
        [1, 'x'],
      ]),
      'S5GUzd0jqMSLJGm8l_MflA624J8',
    ],
    ['a Set', new Set([3, 'x', 1]), 'c4HbqkeOPl66zTJjvbEojUQRJXY'],
    ['a Date', new Date(0), 'j7s3ZjpCP6aCGEYoLEoQRrCJ1Ss'],
    ['a BigInt', 12_345_678_901_234_567_890n, '_iZT3B4alx80j9mVm69UP22jn-k'],
    ['a RegExp', /a+/gi, 'hOgRTs7xUo7GMbEtT_Wadyv4Dk4'],
    ['a URL', new URL('https://a.test/b?c=1'), 'jmEZbFsj-7QRqccUxhLN5wMk08A'],
    ['bytes', Uint8Array.of(1, 2, 255), 'qC0aDTAWuGnaMR2iBiEnuvPiZK0'],
    ['an Error', failure(), 'aGNyGfKRO3LHTuTgyB5FMzmB5ok'],
    ['an instance', new Money(5), 'wBsTe24TTDzF3XkVE-D-mq871-g'],
    ['one object twice', { b: shared, a: shared }, 'vKi1jXTYsleYO4FkNweuxHCYhic', 'XZcmLa4qMAxMVMUp7mDFA_vbPAE'],
    [
      'all in all',
      { z: [new Date(1), new Map([['m', new Set([1n])]])], a: { y: new Money(7), b: failure() } },
      'BE62izMu4Vxf3jYaL2-Cj1fR7Go',
      'ID6YtDA5HJt28rJoBmdTtA7K7Ok',
    ],
  ])('of %s', (_, value, text, sorted) => {
    const encoded = encode(value, 'input');
    expect(digestOf(encoded)).toBe(text);
    expect(digestOfValue(value, encoded)).toEqual(
      sorted === undefined ? { digest: text } : { digest: sorted, older: text },
    );
  });

  test('of JSON text', () => {
    expect(digestOfJson('{"b":1,"a":{"d":[1],"c":"x"}}')).toEqual({
      digest: 'JQveza7bMkpX2BeD8S35a-V8_Zs',
      older: 'Ea1msVPhWp4ghce6C1bpHHODhw4',
    });
  });

  test('of the arguments of a step, as its record has it', async () => {
    const take = step('take', (..._args: unknown[]) => 1);
    const { run, journal } = await bench(newJournalPath(), {
      go: async () => {
        await take();
        await take({ b: 1, a: [2] });
        await take(new Map([['k', 1n]]), new Date(0), new Set(['x']), new Money(5));
        await take(failure());
      },
    });
    const records = await journal.getRecords((await run('go')).runId);
    expect(records.map(({ digest: text }) => text)).toEqual([
      '3p4hypk8sOe8wAKH7jp8O0VyiHA',
      'SwLk9MSUeNmmc_LHgqM29Q_ulVM',
      'KnpiwxN74VtxECvekWDNELqoDjg',
      'VMXd7buQ8F8ERc0EKjrXSWNHqHY',
    ]);
  });
});
