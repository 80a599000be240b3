import { CONTEXT } from './checks/finder.ts';
import type { Finder, Span } from './checks/finder.ts';
import type { Rule, SpanRule } from './rules.ts';

/** What a rule has found so far. */
export interface Found {
  rule: Rule;
  count: number;
  reason: string | null;
  /** False: its check failed, and what it cannot check passes. */
  isApplied: boolean;
}

/** A text that is judged while it comes. What goes on is the same however it was cut. */
export interface TextStream {
  /** Answers what may go on: all but the end that may yet be found to be a part of something. */
  push(text: string): string;
  /** Answers the rest. */
  end(): string;
  /** What blocked it: the text ends before that. */
  readonly blocked: Found | undefined;
  /** What holds it, and from which character on of what goes on. */
  readonly held: { by: Found; from: number } | undefined;
  readonly found: readonly Found[];
  /** Once it has ended: its last part, which more text could have made something of. */
  readonly tail: string;
}

/** `before`: the tail of the text that this one goes on with, which is out. */
export function createTextStream(rules: readonly SpanRule[], before = ''): TextStream {
  const finders = rules.map(({ how }) => how.createFinder());
  const found = new Map<Rule, Found>();
  let text = before;
  let base = 0;
  /** What comes before it is out, or is left out. */
  let out = before.length;
  let waiting: Item[] = [];
  /** How many characters have gone on. */
  let gone = 0;

  const note = ({ rule, label }: Item): Found => {
    const known = found.get(rule);
    if (known) {
      known.count += 1;
      return known;
    }
    const first = { rule, count: 1, reason: label, isApplied: true };
    found.set(rule, first);
    stream.found.push(first);
    return first;
  };
  const collect = (): void => {
    let isInOrder = true;
    for (let order = 0; order < finders.length; order++) {
      const rule = rules[order] as Rule;
      for (const { start, end, label } of (finders[order] as Finder).take()) {
        const last = waiting.at(-1);
        isInOrder &&= !last || last.start < start || (last.start === start && last.order <= order);
        waiting.push({ start, end, label, rule, order });
      }
    }
    if (!isInOrder) waiting.sort((a, b) => a.start - b.start || a.order - b.order);
  };
  /** What comes before `limit` goes on. */
  const release = (limit: number): string => {
    let released = '';
    if (waiting.length > 0) {
      let taken = 0;
      for (; taken < waiting.length && (waiting[taken] as Item).start < limit; taken++) {
        const item = waiting[taken] as Item;
        if (item.end <= before.length) continue;
        const hit = note(item);
        if (item.rule.action === 'block') {
          if (item.start > out) released += text.slice(out - base, item.start - base);
          stream.blocked = hit;
          waiting = [];
          return released;
        }
        if (item.rule.action === 'hold' && !stream.held) {
          const start = Math.max(item.start, out);
          released += text.slice(out - base, start - base);
          out = start;
          stream.held = { by: hit, from: gone + released.length };
        }
        if (item.rule.action !== 'mask') continue;
        if (item.start >= out) released += `${text.slice(out - base, item.start - base)}[${item.label}]`;
        // Its beginning is out; the rest of it never is.
        else if (item.start < before.length && out === before.length) released += `[${item.label}]`;
        out = Math.max(out, item.end);
      }
      waiting.splice(0, taken);
    }
    if (limit > out) {
      released += text.slice(out - base, limit - base);
      out = limit;
    }
    return released;
  };
  const read = (more: string, isEnd: boolean): string => {
    const view = { text, base, isEnd };
    const end = base + text.length;
    let limit = end;
    for (const finder of finders) {
      finder.read(view);
      if (!isEnd) limit = Math.min(limit, finder.decided);
    }
    collect();
    // As it came, mostly.
    const isAll = waiting.length === 0 && limit === end && out === end - more.length;
    const released = isAll ? more : release(limit);
    if (isAll) out = limit;
    const keptFrom = Math.max(base, limit - CONTEXT);
    text = text.slice(keptFrom - base);
    base = keptFrom;
    gone += released.length;
    return released;
  };

  // Without accessors, of which each object has its own: a value may be a list of as many texts as it has characters.
  const stream = {
    blocked: undefined as TextStream['blocked'],
    held: undefined as TextStream['held'],
    found: [] as Found[],
    tail: '',
    push(more: string): string {
      if (stream.blocked || more === '') return '';
      text += more;
      return read(more, false);
    },
    end(): string {
      if (stream.blocked) return '';
      stream.tail = text;
      return read('', true);
    },
  };
  return stream;
}

// --- internal ---

interface Item extends Span {
  rule: Rule;
  order: number;
}
