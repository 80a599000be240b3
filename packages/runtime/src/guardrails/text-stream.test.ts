import { describe, expect, test } from 'vitest';
import { ALL_PERSONAL, regex, ruleOf, sideOf, words } from './_rules.ts';
import { judgeValue } from './judge.ts';
import type { SideRules } from './rules.ts';
import { createTextStream } from './text-stream.ts';

describe('a rule that holds', () => {
  test('holds from the same character on, however the text is cut', () => {
    const text = 'card 4111 1111 1111 1111, then a forbidden word, and card 4111 1111 1111 1111';
    const rules = sideOf(ruleOf(ALL_PERSONAL), ruleOf(words(['forbidden']), 'hold')).spans;
    for (let size = 1; size <= text.length; size++) {
      const stream = createTextStream(rules);
      let out = '';
      for (let from = 0; from < text.length; from += size) out += stream.push(text.slice(from, from + size));
      out += stream.end();
      expect([out, out.slice(stream.held?.from)]).toEqual([
        'card [card], then a forbidden word, and card [card]',
        'forbidden word, and card [card]',
      ]);
    }
  });
});

describe('a text that comes in pieces', () => {
  // oxfmt-ignore
  const BITS = [
    'a.b@example.com', '4111 1111 1111 1111', '5555555555554444', '+49 30 1234567', '(212) 555-0199', '-', 'AB',
    'DE89 3704 0044 0532 0130 00', ' ', ' ', '\n', ' 12', 'the', 'secret', 'x', '192.168.1.10', 'foo', 'foobar',
    'Bearer abcdefghijklmnop1234', '😀', 'sk-abcdefghijklmnopqrstuvwx', '-----BEGIN PRIVATE KEY-----\nMIIE',
    '-----END PRIVATE KEY-----', 'fe80::1ff:fe23:4567:890a', '536-90-4399', 'eyJhbGciOiJI.eyJzdWIiOiIx.abc',
  ];
  const RULES = [
    ruleOf(ALL_PERSONAL),
    ruleOf(words(['foo', 'foobar', 'the secret', 'é'], false)),
    ruleOf(regex('x\\s*[0-9]+\\b|^the$|(?i)ab+c?')),
    ruleOf(words(['secret']), 'audit', 'audit'),
    ruleOf(regex('[\\s\\S]{5}zz'), 'audit', 'long'),
  ];
  const random = createRandom(Number(process.env.SVC_TEST_GUARDRAILS_SEED ?? 7));
  const read = (rules: SideRules, text: string, size: () => number) => {
    const stream = createTextStream(rules.spans);
    let out = '';
    for (let at = 0; at < text.length;) {
      const piece = size();
      out += stream.push(text.slice(at, at + piece));
      at += piece;
    }
    out += stream.end();
    return {
      out,
      blocked: stream.blocked?.rule.name,
      found: stream.found.map(({ rule, count }) => [rule.name, count]),
    };
  };

  test('is judged the same wherever it is cut', () => {
    for (let n = 0; n < 100; n++) {
      const text = Array.from({ length: 12 }, () => BITS[random(BITS.length)]).join('');
      const rules = n % 4 === 0 ? sideOf(...RULES, ruleOf(regex('x12|foo'), 'block', 'stop')) : sideOf(...RULES);
      const whole = read(rules, text, () => text.length);
      expect(read(rules, text, () => 1)).toEqual(whole);
      expect(read(rules, text, () => 1 + random(9))).toEqual(whole);
    }
  });

  test('goes on at once where nothing is under way, and is held where something is', () => {
    const stream = createTextStream(sideOf(...RULES.slice(0, 3)).spans);
    expect(stream.push('Hello, world! ')).toBe('Hello, world! ');
    expect(stream.push('mail a.b@exam')).toBe('mail ');
    expect(stream.push('ple.com now and')).toBe('[email] now ');
    expect(stream.end()).toBe('and');
  });

  test('has no more held back than a window, whatever the pattern is', () => {
    const stream = createTextStream(sideOf(ruleOf(regex('a[\\s\\S]*z'))).spans);
    let held = 0;
    for (let n = 0; n < 400; n++) held += 100 - stream.push('a'.repeat(100)).length;
    expect(held).toBeLessThanOrEqual(8_192);
  });

  test('a block ends it before what was found, and what comes after is dropped', () => {
    const rules = sideOf(ruleOf(words(['stop']), 'block'), ruleOf(ALL_PERSONAL));
    const whole = read(rules, 'mail a@b.com then stop here a@b.com', () => 100);
    expect(whole).toEqual({
      out: 'mail [email] then ',
      blocked: 'words',
      found: [
        ['pii', 1],
        ['words', 1],
      ],
    });
  });
});

describe('a value', () => {
  test('is masked in its texts, its names and its numbers, and left as it is elsewhere', async () => {
    const value = { 'a@b.com': [{ card: 4111111111111111, at: new Date(0), ok: true }, 'x'], n: null };
    const judged = await judgeValue(sideOf(ruleOf(ALL_PERSONAL)), value);
    expect(judged.value).toEqual({ '[email]': [{ card: '[card]', at: new Date(0), ok: true }, 'x'], n: null });
    expect(Object.keys(value)).toEqual(['a@b.com', 'n']);
    const plain = { a: [1, 'x'] };
    expect((await judgeValue(sideOf(ruleOf(ALL_PERSONAL)), plain)).value).toBe(plain);
  });

  test('however deep it is, is read', async () => {
    let value: unknown = 'a@b.com';
    for (let n = 0; n < 100_000; n++) value = [value];
    const { found } = await judgeValue(sideOf(ruleOf(ALL_PERSONAL, 'audit')), value);
    expect(found).toMatchObject([{ count: 1 }]);
  });
});

// --- internal ---

function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * below);
  };
}
