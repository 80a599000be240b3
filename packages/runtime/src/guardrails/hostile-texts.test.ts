import { describe, expect, test } from 'vitest';
import { toHostileText, toNumbers } from '../../test/fixtures/hostile-text.mjs';
import { judgeText, judgeValue } from './judge.ts';
import { toRule, toSideRules } from './rules.ts';
import type { Check } from './store.ts';
import type { SideRules } from './rules.ts';

const TEXT = toHostileText(1_000_000);
/** Many times what it takes: one that grows with the square of the text takes minutes. */
const MOST_MS = 20_000;

const CHECKS: Check[] = [
  { kind: 'regex', pattern: '(a+)+c|(?:[a-z0-9@]+[- ]?)*!$|x[\\s\\S]*y', ignoreCase: true },
  { kind: 'words', words: ['aaaaaaaaaa', 'aab', '4 4', 'bearer bear', 'zz'], ignoreCase: true, wholeWord: false },
  { kind: 'words', words: ['aaaaaaaaaa', 'a b', 'send passwords'], ignoreCase: true, wholeWord: true },
  { kind: 'pii', kinds: ['email', 'phone', 'iban', 'card', 'ip', 'national-id', 'secret'] },
  { kind: 'injection' },
  { kind: 'length', min: 2_000_000 },
  { kind: 'schema', schema: { type: 'object' } },
];

describe('numbers, each of which is looked at by itself', () => {
  const check: Check = { kind: 'pii', kinds: ['email', 'phone', 'iban', 'card', 'ip', 'national-id', 'secret'] };
  const rule = toRule({ id: 'r', name: 'r', action: 'audit', failClosed: true, check });
  const rules = toSideRules('agent-output', { kind: 'agent', name: 'a' }, [rule]) as SideRules;
  const take = async (judge: () => Promise<unknown>): Promise<number> => {
    const from = process.cpuUsage();
    await judge();
    const { user, system } = process.cpuUsage(from);
    return (user + system) / 1_000;
  };

  // Each takes some 10 to 140 ms. With every kind asked about each of the short ones it takes seconds.
  test.each([
    ['of a digit', '1,'.repeat(500_000)],
    ...[8, 11, 12, 16].flatMap((digits): [string, string][] =>
      [',', ' ', '-'].map((separator) => [
        `of ${digits} digits and ${JSON.stringify(separator)}`,
        toNumbers(1_000_000, digits, separator),
      ]),
    ),
    ['that begin as an IBAN', 'DE12'.repeat(250_000)],
  ])('1 MB %s is judged in time', async (_, text) => {
    expect(await take(() => judgeText(rules, text))).toBeLessThan(1_500);
  });

  test('a list of 450,000 is judged in time', async () => {
    const numbers = Array.from({ length: 450_000 }, (_, at) => at);
    // Some 300 ms, within which others have their turn; with a stream made ready for each it is 3.5 s.
    expect(await take(() => judgeValue(rules, numbers))).toBeLessThan(2_500);
  });

  test('a list of as many as a request may have that hold no text is judged', async () => {
    const { value, found } = await judgeValue(
      rules,
      Array.from({ length: 500_000 }, () => null),
    );
    expect([value.length, found]).toEqual([500_000, []]);
  });
});

test.each(CHECKS.map((check) => [check.kind, check] as const))(
  '1 MB that is hard on %s is judged in time',
  { timeout: 60_000 },
  async (_, check) => {
    const rule = toRule({ id: 'r', name: 'r', action: 'audit', failClosed: true, check });
    const rules = toSideRules('agent-output', { kind: 'agent', name: 'a' }, [rule]) as SideRules;
    const from = performance.now();
    await judgeText(rules, TEXT);
    const took = performance.now() - from;
    expect(took).toBeLessThan(MOST_MS);
  },
);
