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
  rubric: string;
  /** One a line. */
  labels: string;
  model: string;
  /** As the rule has it: the form does not ask. */
  timeoutMs?: number;
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
  ['model', 'A model judges it'],
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
    rubric: '',
    labels: '',
    model: '',
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
  if (check.kind === 'model') {
    const { rubric, labels, model = '', timeoutMs } = check;
    return { ...draft, kind: 'model', rubric, labels: labels.join('\n'), model, timeoutMs };
  }
  return { ...draft, kind: 'json', json: toJson(check) };
}

function toCheck(draft: CheckDraft): NewCheck {
  const { kind, ignoreCase } = draft;
  if (kind === 'regex') return { kind, pattern: draft.pattern, ignoreCase };
  if (kind === 'words') return { kind, words: listLines(draft.words), ignoreCase, wholeWord: draft.wholeWord };
  if (kind === 'pii') return { kind, kinds: [...draft.personalData] as never };
  if (kind === 'injection') return { kind };
  if (kind === 'length') return { kind, ...toBound('min', draft.min), ...toBound('max', draft.max) };
  if (kind === 'schema') return { kind, schema: parse('The schema', draft.schema) as Record<string, unknown> };
  if (kind === 'model') {
    const { rubric, labels, model, timeoutMs } = draft;
    return {
      kind,
      rubric,
      labels: listLines(labels),
      ...(model === '' ? {} : { model }),
      ...(timeoutMs && { timeoutMs }),
    };
  }
  return parse('The check', draft.json) as NewCheck;
}

function isEmpty(draft: CheckDraft): boolean {
  if (draft.kind === 'regex') return draft.pattern === '';
  if (draft.kind === 'words') return listLines(draft.words).length === 0;
  if (draft.kind === 'model') return draft.rubric.trim() === '';
  if (draft.kind === 'pii') return draft.personalData.length === 0;
  return draft.kind === 'length' && draft.min === '' && draft.max === '';
}

function listLines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
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
