import { isSpace } from './tokens.ts';

/** The smallest part of a text that chunks are made of: a sentence, a line, or what of one fits. */
export interface Unit {
  start: number;
  end: number;
  /** How well a chunk ends behind it: 0 within a line or code, 1 behind a sentence or line, 2 behind a paragraph. */
  ends: 0 | 1 | 2;
}

/** A part of the text under one heading. */
export interface Section {
  headings: string[];
  start: number;
  end: number;
}

/** The parts of a Markdown text, each with its own heading. */
export function* splitSections(text: string): Generator<Section> {
  let headings: { level: number; title: string }[] = [];
  let start = 0;
  let fence: string | undefined;
  for (const line of linesOf(text)) {
    const content = text.slice(line.start, Math.min(line.end, line.start + LONGEST_HEADING));
    fence = nextFence(fence, content);
    const heading = fence === undefined ? HEADING.exec(content) : null;
    if (!heading) continue;
    if (line.start > start) yield { headings: headings.map(({ title }) => title), start, end: line.start };
    const [, marks = '', title = ''] = heading;
    headings = [
      ...headings.filter(({ level }) => level < marks.length),
      { level: marks.length, title: toTitle(title) },
    ];
    start = line.start;
  }
  if (start < text.length) yield { headings: headings.map(({ title }) => title), start, end: text.length };
}

/** What a section consists of. Of Markdown, code is parted between its lines alone. */
export function* splitUnits(
  text: string,
  { start, end }: Pick<Section, 'start' | 'end'>,
  isMarkdown: boolean,
): Generator<Unit> {
  let fence: string | undefined;
  for (const line of linesOf(text, start, end)) {
    const wasIn = fence !== undefined;
    if (isMarkdown) fence = nextFence(fence, text.slice(line.start, Math.min(line.end, line.start + LONGEST_HEADING)));
    const isCode = wasIn || fence !== undefined;
    const isLast = line.end >= end || isBlankAt(text, line.end, end);
    if (isCode) yield* splitLong(line, fence !== undefined ? 0 : isLast ? 2 : 1);
    else yield* splitLine(text, line, isLast);
  }
}

// --- internal ---

/** Characters. A longer unit is parted: it need not have a space. */
const LONGEST_UNIT = 200;
const LONGEST_HEADING = 400;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*\S)[ \t]*\r?\n?$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

interface Line {
  start: number;
  /** Behind its line break. */
  end: number;
}

function* linesOf(text: string, from = 0, to = text.length): Generator<Line> {
  for (let start = from; start < to;) {
    const found = text.indexOf('\n', start);
    const end = found === -1 || found >= to ? to : found + 1;
    yield { start, end };
    start = end;
  }
}

/** Undefined: outside of code. */
function nextFence(fence: string | undefined, line: string): string | undefined {
  const mark = FENCE.exec(line)?.[1];
  if (mark === undefined) return fence;
  if (fence === undefined) return mark;
  return mark[0] === fence[0] && mark.length >= fence.length ? undefined : fence;
}

function toTitle(title: string): string {
  return title.replace(/[ \t]+#+$/, '').slice(0, LONGEST_TITLE);
}

const LONGEST_TITLE = 200;

function isBlankAt(text: string, at: number, end: number): boolean {
  for (let place = at; place < end; place++) {
    const code = text.charCodeAt(place);
    if (code === 10) return true;
    if (!isSpace(code)) return false;
  }
  return true;
}

/** Sentences of a line. */
function* splitLine(text: string, line: Line, isLast: boolean): Generator<Unit> {
  let start = line.start;
  for (let at = line.start; at < line.end; at++) {
    if (!isSentenceEnd(text, at, line.end)) continue;
    yield* splitLong({ start, end: at + 1 }, at + 1 === line.end && isLast ? 2 : 1, text);
    start = at + 1;
  }
  if (start < line.end) yield* splitLong({ start, end: line.end }, isLast ? 2 : 1, text);
}

function isSentenceEnd(text: string, at: number, end: number): boolean {
  const code = text.charCodeAt(at);
  // Full stops of writings without spaces.
  if (code === 0x3002 || code === 0xff01 || code === 0xff1f) return true;
  if (!isSpace(code) || at === 0 || at + 1 >= end || isSpace(text.charCodeAt(at + 1))) return false;
  return '.!?'.includes(text.charAt(at - 1));
}

/** Parts of what is long, behind a space where there is one. */
function* splitLong({ start, end }: Line, ends: Unit['ends'], text?: string): Generator<Unit> {
  let from = start;
  while (end - from > LONGEST_UNIT) {
    const to = findSpace(text, from, from + LONGEST_UNIT);
    yield { start: from, end: to, ends: 0 };
    from = to;
  }
  if (from < end) yield { start: from, end, ends };
}

function findSpace(text: string | undefined, from: number, most: number): number {
  if (text === undefined) return most;
  for (let at = most; at > from + LONGEST_UNIT / 2; at--) if (isSpace(text.charCodeAt(at - 1))) return at;
  // Not between the halves of one sign.
  const code = text.charCodeAt(most);
  return code >= 0xdc00 && code <= 0xdfff ? most - 1 : most;
}
