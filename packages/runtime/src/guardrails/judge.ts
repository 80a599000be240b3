import { createYielder } from '../yielder.ts';
import type { Rule, SideRules, Subject } from './rules.ts';
import { createTextStream } from './text-stream.ts';
import type { Found } from './text-stream.ts';
import { listTexts, replaceTexts } from './value-texts.ts';

/** What came of a text or of a value. */
export interface Judged<T> {
  /** As it may go on; of one that is blocked, nothing. */
  value: T;
  blocked: Found | undefined;
  /** What has it wait for an operator. */
  held: Found | undefined;
  found: readonly Found[];
}

/** Judges a text. */
export async function judgeText(rules: SideRules, text: string, signal?: AbortSignal): Promise<Judged<string>> {
  const findings = createFindings();
  const value = await readThrough(rules, text, findings);
  if (!findings.blocked) await judgeWhole(rules, { text, ...(signal ? { signal } : {}) }, findings);
  return { value, ...findings.toAnswer() };
}

/** Judges each text within a value, and the value as JSON where a rule is about the whole of it. */
export async function judgeValue<T>(rules: SideRules, value: T, signal?: AbortSignal): Promise<Judged<T>> {
  if (typeof value === 'string' || typeof value === 'number') return judgeScalar(rules, value, signal);
  const findings = createFindings();
  const changed: { at: ReturnType<typeof listTexts>[number]; text: string }[] = [];
  const yielder = createYielder();
  for (const at of rules.spans.length > 0 ? listTexts(value) : []) {
    const text = await readThrough(rules, at.text, findings);
    if (findings.blocked) return { value, ...findings.toAnswer() };
    if (text !== at.text) changed.push({ at, text });
    await yielder.yieldIfDue();
  }
  if (rules.wholes.length > 0) {
    const text = JSON.stringify(value) ?? '';
    await judgeWhole(rules, { text, value, ...(signal ? { signal } : {}) }, findings);
  }
  return { value: changed.length > 0 ? replaceTexts(value, changed) : value, ...findings.toAnswer() };
}

/** Several texts or values of one side, found in one after the other. */
export interface Findings {
  readonly blocked: Found | undefined;
  add(found: Found): void;
  toAnswer(): Omit<Judged<unknown>, 'value'>;
}

export function createFindings(): Findings {
  const byRule = new Map<string, Found>();
  let blocked: Found | undefined;
  let held: Found | undefined;
  return {
    get blocked() {
      return blocked;
    },
    add(found) {
      const key = `${found.rule.id} ${found.isApplied}`;
      const known = byRule.get(key);
      const all = known ? { ...known, count: known.count + found.count } : found;
      byRule.set(key, all);
      if (!found.isApplied) return;
      if (found.rule.action === 'block') blocked ??= all;
      if (found.rule.action === 'hold') held ??= all;
    },
    toAnswer: () => ({ blocked, held, found: [...byRule.values()] }),
  };
}

/** What rules about the whole of it say, in their order; what is blocked is asked about no further. */
export async function judgeWhole({ wholes }: SideRules, subject: Subject, findings: Findings): Promise<void> {
  for (const rule of wholes) {
    const found = await ask(rule, subject);
    if (found) findings.add(found);
    if (findings.blocked) return;
  }
}

/** What blocks because its check failed says so with this. */
export const FAILED = 'The check failed';

// --- internal ---

const PIECE = 16_384;

async function readThrough({ spans }: SideRules, text: string, findings: Findings): Promise<string> {
  if (spans.length === 0) return text;
  const stream = createTextStream(spans);
  const yielder = createYielder();
  let value = '';
  for (let from = 0; from < text.length && !stream.blocked; from += PIECE) {
    value += stream.push(text.slice(from, from + PIECE));
    if (text.length > PIECE) await yielder.yieldIfDue();
  }
  value += stream.end();
  for (const found of stream.found) findings.add(found);
  return value;
}

async function judgeScalar<T>(rules: SideRules, value: T, signal?: AbortSignal): Promise<Judged<T>> {
  const text = String(value);
  const judged = await judgeText(rules, text, signal);
  return { ...judged, value: judged.value === text ? value : (judged.value as T) };
}

async function ask(rule: SideRules['wholes'][number], subject: Subject): Promise<Found | undefined> {
  try {
    const reason = await rule.how.judge(subject);
    return reason === undefined ? undefined : { rule, count: 1, reason, isApplied: true };
  } catch (error) {
    const reason = `${FAILED}: ${error instanceof Error ? error.message : String(error)}`.slice(0, 500);
    return { rule: rule.failClosed ? asBlock(rule) : rule, count: 1, reason, isApplied: rule.failClosed };
  }
}

/** Of a check that failed: what it cannot check does not pass. */
function asBlock(rule: Rule): Rule {
  return { ...rule, action: 'block' };
}
