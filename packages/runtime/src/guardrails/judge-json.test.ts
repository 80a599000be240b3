import { describe, expect, test } from 'vitest';
import { ALL_PERSONAL, regex, ruleOf, sideOf, words } from './_rules.ts';
import { judgeJsonText } from './judge-json.ts';

describe('a text that is JSON', () => {
  test.each([
    ['blocks', 'block'],
    ['holds', 'hold'],
    ['notes', 'audit'],
  ] as const)('what stands for a masked value is nothing that another rule %s', async (_, action) => {
    const rules = sideOf(ruleOf(ALL_PERSONAL), ruleOf(words(['card', 'email']), action));
    const judged = await judgeJsonText(rules, '{"a": "4111 1111 1111 1111", "to": ["a@example.com"]}');
    expect(judged.value).toBe('{"a":"[card]","to":["[email]"]}');
    expect(judged.found).toMatchObject([{ rule: { name: 'pii' }, count: 3 }]);
    expect([judged.blocked, judged.held]).toEqual([undefined, undefined]);
  });

  test('what is written beside a masked value is judged all the same', async () => {
    const rules = sideOf(ruleOf(ALL_PERSONAL), ruleOf(regex('"secret": 1'), 'block', 'pair'));
    const judged = await judgeJsonText(rules, '{"a": "a@example.com", "secret": 1}');
    expect(judged.blocked).toMatchObject({ rule: { name: 'pair' } });
  });

  test('is masked however deep it is', async () => {
    const deep = '[1,{"x":'.repeat(50_000) + '"y"' + '}]'.repeat(50_000);
    const judged = await judgeJsonText(sideOf(ruleOf(ALL_PERSONAL)), `{"a":"a\\u0040example.com","b":${deep}}`);
    expect(judged.value).toBe(`{"a":"[email]","b":${deep}}`);
  });
});
