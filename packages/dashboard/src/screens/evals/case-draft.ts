import type { OperationInput, OperationOutput } from '@svc/runtime/client';
import { parseJson, splitTags, toJson } from './texts.ts';

export type Case = OperationOutput<'evals.cases.get'>;
export type CaseGiven = OperationInput<'evals.cases.create'>;

/** A case as it is written. */
export interface CaseDraft {
  name: string;
  kind: 'agent' | 'workflow';
  target: string;
  /** Of an agent, the message: more than a text is JSON. */
  input: string;
  isInputJson: boolean;
  expectedAs: 'nothing' | 'text' | 'json';
  expected: string;
  /** JSON. */
  scorers: string;
  tags: string;
  note: string;
}

export function toCaseDraft(given: Case | undefined): CaseDraft {
  if (!given) return EMPTY;
  const { name, target, input, expected, scorers, tags, note } = given;
  const isInputJson = target.kind === 'workflow' || typeof input !== 'string';
  return {
    name,
    kind: target.kind,
    target: target.name,
    input: isInputJson ? toJson(input ?? null) : String(input),
    isInputJson,
    expectedAs: expected === undefined ? 'nothing' : typeof expected === 'string' ? 'text' : 'json',
    expected: expected === undefined ? '' : typeof expected === 'string' ? expected : toJson(expected),
    scorers: toJson(scorers),
    tags: tags.join(', '),
    note: note ?? '',
  };
}

/** Throws a sentence that says what does not parse. */
export function toCase(draft: CaseDraft): CaseGiven {
  const { name, kind, target, input, isInputJson, expectedAs, expected, scorers, tags, note } = draft;
  return {
    name: name.trim(),
    target: { kind, name: target },
    input: isInputJson || kind === 'workflow' ? parseJson('What it is asked', input) : input,
    ...(expectedAs === 'nothing'
      ? {}
      : { expected: expectedAs === 'text' ? expected : parseJson('What is expected', expected) }),
    scorers: parseJson('The list of scorers', scorers) as NonNullable<CaseGiven['scorers']>,
    tags: splitTags(tags),
    note: note.trim() === '' ? null : note,
  };
}

export function isIncomplete({ name, target, input }: CaseDraft): boolean {
  return name.trim() === '' || target === '' || input.trim() === '';
}

// --- internal ---

const EMPTY: CaseDraft = {
  name: '',
  kind: 'agent',
  target: '',
  input: '',
  isInputJson: false,
  expectedAs: 'nothing',
  expected: '',
  scorers: '[]',
  tags: '',
  note: '',
};
