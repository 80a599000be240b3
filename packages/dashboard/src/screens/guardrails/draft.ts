import type { NewCheck, NewRule, Rule } from './rule.ts';

/** A check as it is written: what each kind asks for is kept while another is looked at. */
export interface CheckDraft {
  kind: (typeof KINDS)[number][0];
  pattern: string;
  ignoreCase: boolean;
  /** One a line. */
  words: string;
  wholeWord: boolean;
  personalData: readonly string[];
  min: string;
  max: string;
  schema: string;
  json: string;
}

/** A rule as it is written. */
export type RuleDraft = Omit<Required<NewRule>, 'check' | 'note'> & { note: string; check: CheckDraft };

export const KINDS = [
  ['pii', 'Personal data and credentials'],
  ['words', 'Words'],
  ['regex', 'A pattern'],
  ['injection', 'Prompt injection'],
  ['length', 'Length'],
  ['schema', 'A JSON Schema it must fit'],
  ['json', 'Another, as JSON'],
] as const;

export function toDraft(rule: Rule | undefined): RuleDraft {
  if (!rule) return { ...EMPTY, check: { ...EMPTY.check } };
  const { name, note, sides, action, attachment, enabled, failClosed, check } = rule;
  return { name, note: note ?? '', sides, action, attachment, enabled, failClosed, check: toCheckDraft(check) };
}

/** Throws a sentence that says what does not parse. */
export function toNewRule({ check, note, ...draft }: RuleDraft): NewRule {
  return { ...draft, name: draft.name.trim(), note: note.trim() === '' ? null : note, check: toCheck(check) };
}

/** Whether something is missing that nothing can be done without. */
export function isIncomplete({ name, sides, check }: RuleDraft): boolean {
  return name.trim() === '' || sides.length === 0 || isEmpty(check);
}

// --- internal ---

const EMPTY: RuleDraft = {
  name: '',
  note: '',
  sides: ['agent-output'],
  action: 'block',
  attachment: { kind: 'workspace', name: '' },
  enabled: true,
  failClosed: true,
  check: {
    kind: 'pii',
    pattern: '',
    ignoreCase: true,
    words: '',
    wholeWord: true,
    personalData: [],
    min: '',
    max: '',
    schema: '{\n  "type": "object"\n}',
    json: '{\n  "kind": ""\n}',
  },
};

function toCheckDraft(check: Rule['check']): CheckDraft {
  const draft = { ...EMPTY.check };
  if (check.kind === 'regex') return { ...draft, kind: 'regex', pattern: check.pattern, ignoreCase: check.ignoreCase };
  if (check.kind === 'words')
    return {
      ...draft,
      kind: 'words',
      words: check.words.join('\n'),
      ignoreCase: check.ignoreCase,
      wholeWord: check.wholeWord,
    };
  if (check.kind === 'pii') return { ...draft, kind: 'pii', personalData: check.kinds };
  if (check.kind === 'injection') return { ...draft, kind: 'injection' };
  if (check.kind === 'length')
    return { ...draft, kind: 'length', min: String(check.min ?? ''), max: String(check.max ?? '') };
  if (check.kind === 'schema') return { ...draft, kind: 'schema', schema: toJson(check.schema) };
  return { ...draft, kind: 'json', json: toJson(check) };
}

function toCheck(draft: CheckDraft): NewCheck {
  const { kind, ignoreCase } = draft;
  if (kind === 'regex') return { kind, pattern: draft.pattern, ignoreCase };
  if (kind === 'words') return { kind, words: listWords(draft), ignoreCase, wholeWord: draft.wholeWord };
  if (kind === 'pii') return { kind, kinds: [...draft.personalData] as never };
  if (kind === 'injection') return { kind };
  if (kind === 'length') return { kind, ...toBound('min', draft.min), ...toBound('max', draft.max) };
  if (kind === 'schema') return { kind, schema: parse('The schema', draft.schema) as Record<string, unknown> };
  return parse('The check', draft.json) as NewCheck;
}

function isEmpty(draft: CheckDraft): boolean {
  if (draft.kind === 'regex') return draft.pattern === '';
  if (draft.kind === 'words') return listWords(draft).length === 0;
  if (draft.kind === 'pii') return draft.personalData.length === 0;
  return draft.kind === 'length' && draft.min === '' && draft.max === '';
}

function listWords({ words }: CheckDraft): string[] {
  return words
    .split('\n')
    .map((word) => word.trim())
    .filter(Boolean);
}

function toBound(name: 'min' | 'max', text: string): { min?: number; max?: number } {
  return text === '' ? {} : { [name]: Number(text) };
}

function toJson(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

function parse(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${what} is not JSON: ${(error as Error).message}`, { cause: error });
  }
}
