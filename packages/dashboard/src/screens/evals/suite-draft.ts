import type { OperationInput, OperationOutput } from '@svc/runtime/client';
import { parseJson, splitTags, toJson } from './texts.ts';

export type Suite = OperationOutput<'evals.suites.get'>;
type SuiteGiven = OperationInput<'evals.suites.create'>;

/** A suite as it is written. */
export interface SuiteDraft {
  name: string;
  note: string;
  cases: readonly string[];
  tags: string;
  /** JSON. */
  scorers: string;
  /** JSON. */
  gates: string;
  samples: string;
  concurrency: string;
  /** Seconds. */
  timeout: string;
  model: string;
  /** The agent whose live turns are scored; empty: none. */
  online: string;
  /** Percent. */
  share: string;
}

export function toSuiteDraft(suite: Suite | undefined): SuiteDraft {
  if (!suite) return EMPTY;
  const { name, note, cases, tags, scorers, gates, samples, concurrency, timeoutMs, model, online } = suite;
  return {
    name,
    note: note ?? '',
    cases,
    tags: tags.join(', '),
    scorers: toJson(scorers),
    gates: toJson(gates),
    samples: String(samples),
    concurrency: String(concurrency),
    timeout: String(timeoutMs / 1_000),
    model: model ?? '',
    online: online?.agent ?? '',
    share: String((online?.share ?? 0.05) * 100),
  };
}

/** Throws a sentence that says what does not parse. */
export function toSuite(draft: SuiteDraft): SuiteGiven {
  const { name, note, cases, tags, scorers, gates, samples, concurrency, timeout, model, online, share } = draft;
  return {
    name: name.trim(),
    note: note.trim() === '' ? null : note,
    cases: [...cases],
    tags: splitTags(tags),
    scorers: parseJson('The list of scorers', scorers) as NonNullable<SuiteGiven['scorers']>,
    gates: parseJson('The gates', gates) as NonNullable<SuiteGiven['gates']>,
    samples: Number(samples),
    concurrency: Number(concurrency),
    timeoutMs: Math.round(Number(timeout) * 1_000),
    model: model.trim() === '' ? null : model.trim(),
    online: online === '' ? null : { agent: online, share: Number(share) / 100 },
  };
}

export function isIncomplete({ name, samples, concurrency, timeout, share }: SuiteDraft): boolean {
  return name.trim() === '' || [samples, concurrency, timeout, share].some((text) => !(Number(text) > 0));
}

// --- internal ---

const EMPTY: SuiteDraft = {
  name: '',
  note: '',
  cases: [],
  tags: '',
  scorers: '[]',
  gates: toJson({ passRate: 1 }),
  samples: '1',
  concurrency: '4',
  timeout: '300',
  model: '',
  online: '',
  share: '5',
};
