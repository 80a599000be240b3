import { createYielder } from '../yielder.ts';
import { createFindings, toFailed } from './findings.ts';
import type { Findings, Judged } from './findings.ts';
import { askOwn, toSpanRules } from './own-check.ts';
import type { Spent } from './own-check.ts';
import type { Subject } from './checks/whole.ts';
import type { SideRules, SpanRule } from './rules.ts';
import { createTextStream } from './text-stream.ts';
import type { Found } from './text-stream.ts';
import { listTexts, replaceTexts, toJsonText } from './value-texts.ts';
import type { ItemLists, TextPlace } from './value-texts.ts';

/** What is known of what is judged. */
export interface About {
  signal?: AbortSignal | undefined;
  /** The tool of a call, or of a result. */
  tool?: string | undefined;
  spent?: Spent | undefined;
}

/** Judges a text. */
export async function judgeText(rules: SideRules, text: string, about: About = {}): Promise<Judged<string>> {
  const findings = createFindings();
  const places = await askOwn(rules, { text, ...about }, findings);
  if (findings.blocked) return { value: text, ...findings.toAnswer() };
  const value = await readThrough(toSpanRules(rules, places), text, findings);
  if (!findings.blocked) await judgeWhole(rules, { text, signal: about.signal }, findings);
  return { value, ...findings.toAnswer() };
}

/** Judges each text within a value, and the value as JSON where a rule is about the whole of it. */
export async function judgeValue<T>(rules: SideRules, value: T, about: About = {}): Promise<Judged<T>> {
  if (typeof value === 'string' || typeof value === 'number') return judgeScalar(rules, value, about);
  const findings = createFindings();
  const changed: { at: TextPlace; text: string }[] = [];
  const yielder = createYielder();
  const lists: ItemLists = new Map();
  const texts = rules.spans.length + rules.own.length > 0 ? listTexts(value, lists) : [];
  const places = await askOwn(rules, { text: joinTexts(rules, texts), value, ...about }, findings);
  let from = 0;
  let read = 0;
  for (const at of texts) {
    if (findings.blocked) return { value, ...findings.toAnswer() };
    const { length } = at.text;
    const spans = toSpanRules(rules, places, { from, length });
    const text = length > PIECE ? await readThrough(spans, at.text, findings) : readAtOnce(spans, at.text, findings);
    if (text !== at.text) changed.push({ at, text });
    from += length + 1;
    read += length + PER_TEXT;
    if (read < PER_LOOK) continue;
    read = 0;
    await yielder.yieldIfDue();
  }
  if (rules.wholes.length > 0 && !findings.blocked)
    await judgeWhole(rules, { text: toJsonText(value), value, signal: about.signal }, findings);
  return { value: changed.length > 0 ? replaceTexts(value, changed, lists) : value, ...findings.toAnswer() };
}

/** What rules about the whole of it say, in their order; what is blocked is asked about no further. */
export async function judgeWhole({ wholes, askModel }: SideRules, subject: Subject, findings: Findings): Promise<void> {
  for (const rule of wholes) {
    const found = await ask(rule, { ...subject, askModel });
    if (found) findings.add(found);
    if (findings.blocked) return;
  }
}

// --- internal ---

const PIECE = 16_384;

/** To look at the clock takes as long as to read some characters: it is done after so many. A text takes as long as those of its own. */
const PER_LOOK = 1_024;
const PER_TEXT = 64;

/** Each in a line of its own. */
function joinTexts({ own }: SideRules, texts: readonly TextPlace[]): string {
  return own.length > 0 ? texts.map(({ text }) => text).join('\n') : '';
}

function readAtOnce(spans: readonly SpanRule[], text: string, findings: Findings): string {
  // Of most there is nothing to note.
  if (!spans.some((rule) => findsAny(rule, text))) return text;
  const stream = createTextStream(spans);
  const value = stream.push(text) + stream.end();
  for (const found of stream.found) findings.add(found);
  return value;
}

function findsAny({ how }: SpanRule, text: string): boolean {
  const finder = how.createFinder();
  finder.read({ text, base: 0, isEnd: true });
  return finder.take().length > 0;
}

async function readThrough(spans: readonly SpanRule[], text: string, findings: Findings): Promise<string> {
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

async function judgeScalar<T>(rules: SideRules, value: T, about: About): Promise<Judged<T>> {
  const text = String(value);
  const judged = await judgeText(rules, text, about);
  return { ...judged, value: judged.value === text ? value : (judged.value as T) };
}

async function ask(rule: SideRules['wholes'][number], subject: Subject): Promise<Found | undefined> {
  try {
    const reason = await rule.how.judge(subject);
    return reason === undefined ? undefined : { rule, count: 1, reason, isApplied: true };
  } catch (error) {
    return toFailed(rule, error instanceof Error ? error.message : String(error));
  }
}
