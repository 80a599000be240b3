import { createYielder } from '../../yielder.ts';
import type { Chunking, TextFormat } from '../schemas.ts';
import { countTokens, isSpace } from './tokens.ts';
import { splitSections, splitUnits } from './units.ts';
import type { Section, Unit } from './units.ts';

/** A part of a document that is found by itself. */
export interface Cut {
  text: string;
  headings: string[];
  /** In UTF-16 units from 0. */
  start: number;
  end: number;
  /** From 1. */
  line: number;
  /** From 1. Null: the document has no pages. */
  page: number | null;
}

export interface CutOptions extends Chunking {
  format: TextFormat;
  pages: readonly number[] | null;
}

/**
 * Cuts a text into chunks of at most `size` tokens, of which each repeats up to `overlap` of the one before under the same
 * heading. The same text is cut the same. Takes time in proportion to the text, and yields to the event loop meanwhile.
 */
export async function cutText(text: string, { size, overlap, markdown, format, pages }: CutOptions): Promise<Cut[]> {
  const isMarkdown = markdown && format === 'markdown';
  const sections = isMarkdown ? splitSections(text) : [{ headings: [], start: 0, end: text.length }];
  const lines = createCounter(text);
  const yielder = createYielder(10);
  const cuts: Cut[] = [];
  for (const section of sections) {
    if (isMarkdown && isHeadingAlone(text, section)) continue;
    for await (const part of pack(text, { section, size, overlap, isMarkdown, yielder })) {
      const { start, end } = trim(text, part);
      if (start >= end) continue;
      const place = { line: lines.lineAt(start), page: pages && pageAt(pages, start) };
      cuts.push({ text: text.slice(start, end), headings: section.headings, start, end, ...place });
    }
  }
  return cuts;
}

/** What a model is given of a chunk: with the headings it is below, which say what it is about. */
export function toEmbedded({ headings, text }: Pick<Cut, 'headings' | 'text'>): string {
  return headings.length > 0 ? `${headings.join(' > ')}\n\n${text}` : text;
}

// --- internal ---

interface Packing {
  section: Section;
  size: number;
  overlap: number;
  isMarkdown: boolean;
  yielder: ReturnType<typeof createYielder>;
}

type Counted = Unit & { tokens: number };

async function* pack(text: string, { section, size, overlap, isMarkdown, yielder }: Packing) {
  let held: Counted[] = [];
  let tokens = 0;
  /** How many of those held were in the chunk before. */
  let repeated = 0;
  for (const unit of splitUnits(text, section, isMarkdown)) {
    await yielder.yieldIfDue();
    const counted = { ...unit, tokens: countTokens(text.slice(unit.start, unit.end)) };
    if (counted.tokens === 0) {
      // Space alone belongs to what comes before it.
      const last = held.at(-1);
      if (last) held[held.length - 1] = { ...last, end: unit.end, ends: 2 };
      continue;
    }
    while (held.length > repeated && tokens + counted.tokens > size) {
      const count = findEnd(held, repeated, size);
      yield rangeOf(held.slice(0, count));
      const kept = countKept(held.slice(0, count), overlap);
      held = held.slice(count - kept);
      repeated = kept;
      tokens = sum(held);
    }
    // A long unit has no room beside what would be repeated.
    while (repeated > 0 && tokens + counted.tokens > size) {
      tokens -= held[0]?.tokens ?? 0;
      held = held.slice(1);
      repeated -= 1;
    }
    held.push(counted);
    tokens += counted.tokens;
  }
  if (held.length > repeated) yield rangeOf(held);
}

/** How many of them make the chunk: all, or up to the end of a paragraph in its second half. */
function findEnd(held: readonly Counted[], repeated: number, size: number): number {
  let tokens = sum(held);
  let sentence = 0;
  for (let count = held.length; count > repeated && tokens >= size / 2; count--) {
    const last = held[count - 1];
    if (last?.ends === 2) return count;
    if (last?.ends === 1 && sentence === 0) sentence = count;
    tokens -= last?.tokens ?? 0;
  }
  return sentence || held.length;
}

/** How many at their end are repeated: whole sentences, and never all. */
function countKept(units: readonly Counted[], overlap: number): number {
  let kept = 0;
  let tokens = 0;
  for (let count = 1; count < units.length; count++) {
    const unit = units[units.length - count];
    tokens += unit?.tokens ?? 0;
    if (tokens > overlap) break;
    kept = count;
  }
  return kept;
}

function sum(units: readonly Counted[]): number {
  return units.reduce((total, { tokens }) => total + tokens, 0);
}

function rangeOf(units: readonly Unit[]): { start: number; end: number } {
  return { start: units[0]?.start ?? 0, end: units.at(-1)?.end ?? 0 };
}

function trim(text: string, { start, end }: { start: number; end: number }): { start: number; end: number } {
  let from = start;
  let to = end;
  while (from < to && isSpace(text.charCodeAt(from))) from += 1;
  while (to > from && isSpace(text.charCodeAt(to - 1))) to -= 1;
  return { start: from, end: to };
}

/** It has a heading and nothing below it: those that stand below it name it. */
function isHeadingAlone(text: string, { headings, start, end }: Section): boolean {
  if (headings.length === 0) return false;
  const rest = text.indexOf('\n', start);
  if (end === text.length) return false;
  return rest === -1 || rest >= end || text.slice(rest, end).trim() === '';
}

/** Line numbers, asked for in ascending order but for what chunks repeat. */
function createCounter(text: string) {
  let at = 0;
  let line = 1;
  return {
    lineAt(place: number): number {
      for (; at < place; at++) if (text.charCodeAt(at) === 10) line += 1;
      for (; at > place; at--) if (text.charCodeAt(at - 1) === 10) line -= 1;
      return line;
    },
  };
}

function pageAt(pages: readonly number[], place: number): number {
  let low = 0;
  let high = pages.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((pages[middle] ?? 0) <= place) low = middle + 1;
    else high = middle;
  }
  return Math.max(1, low);
}
