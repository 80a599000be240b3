/** Rules for the tests of this room. */
import { toRule, toSideRules } from './rules.ts';
import type { Rule, SideRules } from './rules.ts';
import type { Action, Check } from './store.ts';

export const ruleOf = (check: Check, action: Action = 'mask', name: string = check.kind): Rule =>
  toRule({ id: name, name, action, failClosed: true, check });

export const sideOf = (...rules: Rule[]): SideRules =>
  toSideRules('agent-output', { kind: 'agent', name: 'a' }, rules) as SideRules;

export const words = (list: string[], wholeWord = true): Check => ({
  kind: 'words',
  words: list,
  ignoreCase: true,
  wholeWord,
});

export const regex = (pattern: string, ignoreCase = false): Check => ({ kind: 'regex', pattern, ignoreCase });

export const ALL_PERSONAL: Check = {
  kind: 'pii',
  kinds: ['email', 'phone', 'iban', 'card', 'ip', 'national-id', 'secret'],
};
