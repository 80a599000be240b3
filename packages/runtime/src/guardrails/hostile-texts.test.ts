import { expect, test } from 'vitest';
import { toHostileText } from '../../test/fixtures/hostile-text.mjs';
import { judgeText } from './judge.ts';
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

test('1 MB of short numbers, each of which is looked at by itself, is judged in time', async () => {
  const check: Check = { kind: 'pii', kinds: ['email', 'phone', 'iban', 'card', 'ip', 'national-id', 'secret'] };
  const rule = toRule({ id: 'r', name: 'r', action: 'audit', failClosed: true, check });
  const rules = toSideRules('agent-output', { kind: 'agent', name: 'a' }, [rule]) as SideRules;
  const from = process.cpuUsage();
  await judgeText(rules, '1,'.repeat(500_000));
  const { user, system } = process.cpuUsage(from);
  // Some 11 ms; with every kind asked about each it takes seconds.
  expect((user + system) / 1_000).toBeLessThan(2_000);
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
