/** The text of a model as blocks. What looks like HTML is text. */
export type Block =
  | { type: 'heading'; level: number; spans: Span[] }
  | { type: 'paragraph'; spans: Span[] }
  | { type: 'list'; isOrdered: boolean; start: number; items: Block[][] }
  | { type: 'quote'; blocks: Block[] }
  | { type: 'code'; language: string; text: string }
  | { type: 'table'; head: Span[][]; rows: Span[][][] }
  | { type: 'rule' };

export type Span =
  | { type: 'text' | 'code'; text: string }
  | { type: 'strong' | 'em'; spans: Span[] }
  | { type: 'link'; href: string; spans: Span[] };

/** Reads a text once, line by line; half a text, which still comes, is read like a whole one. */
export function parseMarkdown(text: string): Block[] {
  return parseLines(text.replaceAll('\r\n', '\n').split('\n'), 0);
}

// --- internal ---

/** Lists in lists, and quotes in quotes, end somewhere. */
const MOST_DEPTH = 8;
/** A longer line is shown as it is. */
const MOST_SPANNED = 20_000;

const HEADING = /^(#{1,6}) +(.+?)(?: +#+)?$/;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,})$/;
const FENCE = /^ {0,3}(```+|~~~+) *([\w+#.-]*)/;
const ITEM = /^( {0,3})([-*+]|(\d{1,9})[.)]) +(?=\S)/;
const TABLE_RULE = /^ *\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$/;

function parseLines(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const endParagraph = (): void => {
    if (paragraph.length > 0) blocks.push({ type: 'paragraph', spans: parseSpans(paragraph.join('\n')) });
    paragraph = [];
  };
  for (let at = 0; at < lines.length;) {
    const found = readBlock(lines, at, depth);
    if (found) {
      endParagraph();
      if (found.block) blocks.push(found.block);
      at = found.next;
    } else paragraph.push(lines[at++] ?? '');
  }
  endParagraph();
  return blocks;
}

interface Found {
  /** Absent: an empty line. */
  block?: Block;
  next: number;
}

/** Undefined: a line of a paragraph. */
function readBlock(lines: readonly string[], at: number, depth: number): Found | undefined {
  const line = lines[at] ?? '';
  if (line.trim() === '') return { next: at + 1 };
  const [, marks, heading = ''] = HEADING.exec(line) ?? [];
  if (marks) return { block: { type: 'heading', level: marks.length, spans: parseSpans(heading) }, next: at + 1 };
  if (RULE.test(line)) return { block: { type: 'rule' }, next: at + 1 };
  const [, fence, language = ''] = FENCE.exec(line) ?? [];
  if (fence) return readCode(lines, at, { fence, language });
  if (depth < MOST_DEPTH && line.startsWith('>')) return readQuote(lines, at, depth);
  if (depth < MOST_DEPTH && ITEM.test(line)) return readList(lines, at, depth);
  if (line.includes('|') && TABLE_RULE.test(lines[at + 1] ?? '')) return readTable(lines, at);
  return undefined;
}

function readCode(
  lines: readonly string[],
  at: number,
  { fence, language }: { fence: string; language: string },
): Found {
  let next = at + 1;
  for (; next < lines.length; next++) if (lines[next]?.trimStart().startsWith(fence)) break;
  return { block: { type: 'code', language, text: lines.slice(at + 1, next).join('\n') }, next: next + 1 };
}

function readQuote(lines: readonly string[], at: number, depth: number): Found {
  let next = at;
  while (lines[next]?.startsWith('>')) next++;
  const quoted = lines.slice(at, next).map((line) => line.replace(/^> ?/, ''));
  return { block: { type: 'quote', blocks: parseLines(quoted, depth + 1) }, next };
}

function readList(lines: readonly string[], at: number, depth: number): Found {
  const [, base = '', mark = '', number] = ITEM.exec(lines[at] ?? '') ?? [];
  const isOrdered = number !== undefined;
  const kind = mark.at(-1);
  const items: string[][] = [];
  let next = at;
  let indent = 0;
  for (; next < lines.length; next++) {
    const line = lines[next] ?? '';
    const begun = ITEM.exec(line);
    const isOfList = begun && (begun[1]?.length ?? 0) < base.length + 2;
    if (isOfList && begun[2]?.at(-1) === kind && (begun[3] !== undefined) === isOrdered) {
      indent = begun[0].length;
      items.push([line.slice(indent)]);
    } else if (line.trim() === '') {
      // An empty line ends the list, unless it goes on behind it.
      const after = lines[next + 1] ?? '';
      if (!ITEM.test(after) && !/^ {2,}\S/.test(after)) break;
      items.at(-1)?.push('');
    } else if (/^ {2,}/.test(line))
      items.at(-1)?.push(line.slice(Math.min(indent, line.length - line.trimStart().length)));
    else if (begun || readBlock(lines, next, MOST_DEPTH)) break;
    else items.at(-1)?.push(line);
  }
  const blocks = items.map((item) => parseLines(item, depth + 1));
  return { block: { type: 'list', isOrdered, start: Number(number ?? 1), items: blocks }, next };
}

function readTable(lines: readonly string[], at: number): Found {
  const toCells = (line: string): Span[][] =>
    line
      .trim()
      .replace(/^\||\|$/g, '')
      .split('|')
      .map((cell) => parseSpans(cell.trim()));
  let next = at + 2;
  while (lines[next]?.includes('|')) next++;
  const head = toCells(lines[at] ?? '');
  const rows = lines.slice(at + 2, next).map((line) => toCells(line).slice(0, head.length));
  return { block: { type: 'table', head, rows }, next };
}

/** None of these looks further than the end of its line for what closes it. */
const SPAN =
  /`([^`\n]{1,1000})`|\*\*([^\s*][^*\n]{0,1000})\*\*|(?<![\w*])\*([^\s*][^*\n]{0,500})\*|(?<!\w)_([^\s_][^_\n]{0,500})_(?!\w)|\[([^[\]\n]{1,500})\]\(([^()\s]{1,2000})\)|(https?:\/\/[^\s<>()[\]`'"]{1,2000})/g;

function parseSpans(text: string): Span[] {
  if (text.length > MOST_SPANNED) return [{ type: 'text', text }];
  const spans: Span[] = [];
  let end = 0;
  for (const match of text.matchAll(SPAN)) {
    const span = toSpan(match);
    if (!span) continue;
    if (match.index > end) spans.push({ type: 'text', text: text.slice(end, match.index) });
    spans.push(span);
    end = match.index + match[0].length;
  }
  if (end < text.length) spans.push({ type: 'text', text: text.slice(end) });
  return spans;
}

/** Undefined: it stays text. */
function toSpan([, code, strong, star, underscore, label, target, bare]: RegExpMatchArray): Span | undefined {
  if (code !== undefined) return { type: 'code', text: code };
  if (strong !== undefined) return { type: 'strong', spans: parseInner(strong) };
  const em = star ?? underscore;
  if (em !== undefined) return { type: 'em', spans: parseInner(em) };
  if (bare !== undefined) return toLink(bare, [{ type: 'text', text: bare }]);
  return label === undefined || target === undefined ? undefined : toLink(target, parseInner(label));
}

/** What is inside of a span has codes and texts alone. */
function parseInner(text: string): Span[] {
  return text.split(/`([^`]+)`/).flatMap((part, n): Span[] => {
    if (part === '') return [];
    return [{ type: n % 2 === 1 ? 'code' : 'text', text: part }];
  });
}

/** Links that go to a page, or to a mailbox; any other may run something. */
function toLink(target: string, spans: Span[]): Span | undefined {
  return /^(?:https?:\/\/|mailto:)/i.test(target) ? { type: 'link', href: target, spans } : undefined;
}
