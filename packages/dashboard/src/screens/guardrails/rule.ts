import type { OperationInput, OperationOutput } from '@svc/runtime/client';
import type { Tone } from '../../ui/badge.tsx';

export type Rule = OperationOutput<'guardrails.list'>['items'][number];
export type NewRule = OperationInput<'guardrails.create'>;
export type NewCheck = NewRule['check'];
export type Side = Rule['sides'][number];
export type Action = Rule['action'];

export const SIDES: readonly (readonly [side: Side, label: string])[] = [
  ['workflow-input', 'Workflow input'],
  ['agent-input', 'Agent input'],
  ['agent-output', 'Agent output'],
  ['tool-call', 'Tool call'],
  ['tool-result', 'Tool result'],
];

export const ACTIONS: readonly (readonly [action: Action, label: string])[] = [
  ['block', 'Block: the run or the turn ends'],
  ['mask', 'Mask: what is found is replaced'],
  ['hold', 'Hold: an operator decides'],
  ['audit', 'Audit: it passes, and is recorded'],
];

export const ACTION_TONES: Record<Action, Tone> = { block: 'bad', mask: 'accent', hold: 'warn', audit: 'neutral' };

export const PERSONAL_DATA = [
  ['email', 'E-mail addresses'],
  ['phone', 'Telephone numbers'],
  ['iban', 'IBANs'],
  ['card', 'Payment cards'],
  ['ip', 'IP addresses'],
  ['national-id', 'National ids'],
  ['secret', 'Keys and tokens'],
] as const;

export function labelOf(side: Side): string {
  return SIDES.find(([known]) => known === side)?.[1] ?? side;
}

/** Whose texts are judged, in words. */
export function scopeOf({ kind, name }: Rule['attachment']): string {
  if (kind === 'workspace') return 'all';
  return name === '' ? `all ${kind}s` : `${kind} ${name}`;
}

/** What a rule looks for, on one line. */
export function summaryOf(check: Rule['check']): string {
  if (check.kind === 'regex') return `/${check.pattern}/${check.ignoreCase ? 'i' : ''}`;
  if (check.kind === 'words') return `${check.words.slice(0, 3).join(', ')}${more(check.words.length - 3)}`;
  if (check.kind === 'pii') return check.kinds.join(', ');
  if (check.kind === 'injection') return 'prompt injection';
  if (check.kind === 'length') return lengthOf(check);
  if (check.kind === 'model') return `by a model: ${check.rubric.slice(0, 80)}`;
  return check.kind === 'code' ? 'a check in code' : 'a JSON Schema';
}

// --- internal ---

function more(count: number): string {
  return count > 0 ? ` and ${count} more` : '';
}

function lengthOf({ min, max }: { min?: number | undefined; max?: number | undefined }): string {
  if (max === undefined) return `fewer than ${min} characters`;
  return min === undefined ? `more than ${max} characters` : `not ${min} to ${max} characters`;
}
