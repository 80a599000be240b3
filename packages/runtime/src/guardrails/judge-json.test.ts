import { describe, expect, test } from 'vitest';
import { ALL_PERSONAL, regex, ruleOf, sideOf, words } from './_rules.ts';
import { beginsAsJson, judgeJsonText, readJson } from './judge-json.ts';

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

describe('a text that comes in pieces', () => {
  test.each([
    '{"a": 1}',
    '[{"a": 1}]',
    ' \n[\n  true, false]',
    '[-1.5e+3 , 2]',
    '[null]',
    '[ 12 ]\n',
    '[[1]]',
    '[]',
    '"a\\u0040example.com"',
    '\ufeff{"a": 1}',
    '```json\n"a\\u0040example.com"\n```',
    '```\n[1]\n```\n',
    '```json\n[false]```',
  ])('is held from its first characters on where it is JSON: %j', (text) => {
    expect(readJson(text)).toBeDefined();
    for (let end = 0; end <= text.length; end++) expect(beginsAsJson(text.slice(0, end))).not.toBe(false);
  });

  test.each([
    ['[1] says so', '[1] s'],
    ['[the docs](https://example.com)', '[th'],
    ['[note] It is', '[no'],
    ['[nullable]', '[nulla'],
    ['[2024-01-31] It is', '[2024-01-31] I'],
    ['[- it is', '[- '],
    ['[true story] It is', '[true s'],
    ['{it}', '{i'],
    ['"Yes", it said', '"Yes",'],
    ['```json\n"Yes", it said', '```json\n"Yes",'],
  ])('goes on as it comes where it is none: %j', (text, begun) => {
    expect(beginsAsJson(begun)).toBe(false);
    expect(readJson(text)).toBeUndefined();
  });
});
