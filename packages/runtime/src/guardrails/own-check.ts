import { runInContext } from '../engine/context.ts';
import { real } from '../engine/real.ts';
import type { CheckPlace } from './author-check.ts';
import type { CreateFinder, Span } from './checks/finder.ts';
import { toFailed } from './findings.ts';
import type { Findings } from './findings.ts';
import type { OwnRule, Rule, SideRules, SpanRule } from './rules.ts';

/** How long checks have taken for one input, of which there may be many texts: by the id of the rule. */
export type Spent = Map<string, number>;

export interface OwnSubject {
  text: string;
  value?: unknown;
  tool?: string | undefined;
  spent?: Spent | undefined;
}

/** The places that checks of the workspace's own have found in a text. */
export type OwnPlaces = readonly { rule: Rule; spans: readonly Span[] }[];

/**
 * Asks one after the other, until one blocks. What is about all of the text goes to the findings; places are judged with
 * those that other rules find.
 */
export async function askOwn(rules: SideRules, subject: OwnSubject, findings: Findings): Promise<OwnPlaces> {
  const places: { rule: Rule; spans: Span[] }[] = [];
  for (const rule of rules.own) {
    if (findings.blocked) break;
    try {
      const answer = toAnswer(await ask(rule, rules, subject), subject.text.length);
      if (typeof answer !== 'string') {
        if (answer.length > 0) places.push({ rule, spans: answer });
      } else if (rule.action === 'mask') findings.add(toFailed(rule, 'it names no place that could be masked'));
      else findings.add({ rule, count: 1, reason: answer, isApplied: true });
    } catch (error) {
      findings.add(toFailed(rule, describe(error, rule.how.file)));
    }
  }
  return places;
}

/** What finds places in the part of the text from `from` on, whose first character is number `at` of what is read. */
export function toSpanRules(
  { all, spans }: SideRules,
  places: OwnPlaces,
  { from = 0, length = Infinity, at = 0 }: { from?: number; length?: number; at?: number } = {},
): readonly SpanRule[] {
  if (places.length === 0) return spans;
  const given = places.flatMap(({ rule, spans: found }): SpanRule[] => {
    const part = toPart(found, { from, length, at });
    return part.length > 0 ? [{ ...rule, how: { createFinder: createGiven(part) } }] : [];
  });
  if (given.length === 0) return spans;
  const order = new Map(all.map(({ id }, index) => [id, index]));
  return [...spans, ...given].sort((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0));
}

// --- internal ---

/** What one rule may take for all texts of an input. */
const MOST_OF_INPUT_MS = 60_000;
const MOST_PLACES = 10_000;
const MOST_OF_REASON = 500;
const LABEL = /^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,39}$/u;

/** What a check did wrong, said without what it judged. */
class BadAnswer extends Error {}

function ask({ id, how, for: above }: OwnRule, rules: SideRules, subject: OwnSubject): Promise<unknown> {
  const { text, spent } = subject;
  const { side, owner } = above ?? rules;
  const tool = above?.tool ?? subject.tool ?? null;
  const used = spent?.get(id) ?? 0;
  const timeout = Math.min(how.timeoutMs, MOST_OF_INPUT_MS - used);
  if (timeout <= 0) throw new BadAnswer(`it has taken ${MOST_OF_INPUT_MS} ms for one input`);
  const value: unknown = 'value' in subject ? JSON.parse(JSON.stringify(subject.value) ?? 'null') : undefined;
  const began = real.performanceNow();
  const ended = new AbortController();
  return new Promise((resolve, reject) => {
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      real.clearTimeout(timer);
      spent?.set(id, used + real.performanceNow() - began);
    };
    const fail = (error: unknown): void => {
      end();
      reject(error);
    };
    const crash = (error: unknown): void => (isOver ? reportLate(how, error) : fail(error));
    const timer = real.setTimeout(() => {
      fail(new BadAnswer(`no answer within ${timeout} ms`));
      runInContext(asked, () => ended.abort());
    }, timeout);
    const asked = { kind: 'asked', crash } as const;
    const check = async (): Promise<unknown> =>
      how.check({
        text,
        ...(value === undefined ? {} : { value }),
        side,
        agent: owner.kind === 'agent' ? owner.name : null,
        workflow: owner.kind === 'workflow' ? owner.name : null,
        tool,
        signal: ended.signal,
      });
    // Outside of the run whose text it is: a check may read the clock and the network.
    runInContext(asked, check).finally(end).then(resolve, reject);
  });
}

/** Checks that have thrown after their answer. */
const late = new WeakSet<OwnRule['how']>();

/** Once: an interval may throw for good. */
function reportLate(how: OwnRule['how'], error: unknown): void {
  if (late.has(how)) return;
  late.add(how);
  process.emitWarning(`A check threw after its answer, where nothing could catch it: ${describe(error, how.file)}.`);
}

/** A reason, or places in their order that do not overlap. */
function toAnswer(answer: unknown, length: number): string | Span[] {
  if (answer === undefined || answer === null || answer === false) return [];
  const reason = typeof answer === 'string' ? answer : (answer as { reason?: unknown }).reason;
  if (typeof reason === 'string') return (reason.trim() || 'found').slice(0, MOST_OF_REASON);
  if (!Array.isArray(answer)) throw new BadAnswer('its answer is neither a reason nor a list of places');
  if (answer.length > MOST_PLACES) throw new BadAnswer(`it names more than ${MOST_PLACES} places`);
  const spans = (answer as unknown[]).map((one) => toSpan(one, length)).sort((a, b) => a.start - b.start);
  const joined: Span[] = [];
  for (const span of spans) {
    const last = joined.at(-1);
    if (last && span.start < last.end) last.end = Math.max(last.end, span.end);
    else joined.push(span);
  }
  return joined;
}

function toSpan(one: unknown, length: number): Span {
  const { start, end, label = 'found' } = (one ?? {}) as Partial<Record<keyof CheckPlace, unknown>>;
  if (!Number.isInteger(start) || !Number.isInteger(end))
    throw new BadAnswer('a place of its answer has no start and end that are whole numbers');
  if (typeof label !== 'string' || !LABEL.test(label))
    throw new BadAnswer('a label of its answer is not 1 to 40 letters, digits, spaces, "-", "_" and "."');
  const span = { start: start as number, end: end as number, label };
  if (span.start < 0 || span.end > length || span.start >= span.end)
    throw new BadAnswer('a place of its answer is not within the text');
  return span;
}

/** The message of what is thrown may quote what is judged, so only its name and its place are reported. */
function describe(error: unknown, file: string | null): string {
  if (error instanceof BadAnswer) return error.message;
  if (!(error instanceof Error)) return 'it threw what is no Error';
  const name = /^\w{1,60}$/.test(error.name) ? error.name : 'Error';
  const frames = typeof error.stack === 'string' ? error.stack.split(/^ {4}at /m).slice(1) : [];
  const line = file === null ? undefined : frames.map((frame) => lineIn(frame, file)).find(Boolean);
  return file === null ? `it threw ${name}` : `${name} in ${file}${line === undefined ? '' : `:${line}`}`;
}

function lineIn(frame: string, file: string): string | undefined {
  const at = frame.lastIndexOf(`${file}:`);
  return at === -1 ? undefined : /^\d{1,6}/.exec(frame.slice(at + file.length + 1))?.[0];
}

function toPart(
  spans: readonly Span[],
  { from, length, at }: { from: number; length: number; at: number },
): readonly Span[] {
  const part: Span[] = [];
  for (let index = firstBehind(spans, from); index < spans.length; index++) {
    const { start, end, label } = spans[index] as Span;
    if (start >= from + length) break;
    part.push({
      start: Math.max(start, from) - from + at,
      end: Math.min(end, from + length) - from + at,
      label,
    });
  }
  return part;
}

/** The first one that ends behind that. They do not overlap. */
function firstBehind(spans: readonly Span[], from: number): number {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((spans[middle] as Span).end > from) high = middle;
    else low = middle + 1;
  }
  return low;
}

function createGiven(spans: readonly Span[]): CreateFinder {
  return () => {
    let left = [...spans];
    return {
      read() {},
      decided: Infinity,
      take() {
        const taken = left;
        left = [];
        return taken;
      },
    };
  };
}
