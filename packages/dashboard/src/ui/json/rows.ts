export type JsonPath = readonly (string | number)[];

/** One line of the viewer. */
export type JsonRow = {
  /** Of its path, and what else there is at it. */
  id: string;
  depth: number;
  path: JsonPath;
} & (
  | {
      kind: 'value';
      /** Undefined: the whole value. */
      name: string | number | undefined;
      value: unknown;
      /** How many it has in it. Undefined: it is no list and no object. */
      size: number | undefined;
      isOpen: boolean;
    }
  /** `above`: so many levels that it lies in. */
  | { kind: 'more'; where: 'before' | 'after' | 'above'; left: number }
);

/** Which members of a value are shown, by their positions: `to` is the first that is not. */
export interface Span {
  from: number;
  to: number;
}

/** What is open, and how much of each. By id. */
export type Opened = ReadonlyMap<string, Span>;

/** How many members are shown at first, and with each asking for more. */
export const STEP = 100;

/** How many levels are shown, and how many more above them when they are asked for. */
export const LEVELS = 100;
const LEVELS_ABOVE = 50;

export const FIRST: Span = { from: 0, to: STEP };

export function idOf(path: JsonPath): string {
  return JSON.stringify(path);
}

/** The lines of what lies at `base`, of no more than what is open: a value of any size and depth costs what is seen of it. */
export function toRows(value: unknown, opened: Opened, base: JsonPath = []): JsonRow[] {
  const rows: JsonRow[] = [];
  const left: JsonRow[] = [toRow(base, base.at(-1), memberAt(value, base), opened)];
  if (base.length > 0)
    rows.push({ kind: 'more', where: 'above', id: 'above', depth: base.length, path: base, left: base.length });
  for (let row = left.pop(); row; row = left.pop()) {
    rows.push(row);
    if (row.kind === 'more' || !row.isOpen || row.size === undefined) continue;
    const { from, to: end } = opened.get(row.id) ?? { from: 0, to: 0 };
    const to = Math.min(end, row.size);
    const { path, depth, size } = row;
    const inner: JsonRow[] = [];
    const addMore = (where: 'before' | 'after', count: number): void => {
      if (count > 0) inner.push({ kind: 'more', id: `${row.id}${where}`, depth: depth + 1, path, where, left: count });
    };
    addMore('before', from);
    for (let at = from; at < to; at += 1) {
      const name = nameAt(row.value as object, at);
      inner.push(toRow([...row.path, name], name, (row.value as Record<string | number, unknown>)[name], opened));
    }
    addMore('after', size - to);
    for (let at = inner.length - 1; at >= 0; at -= 1) left.push(inner[at] as JsonRow);
  }
  return rows;
}

/** What is open at first: `depth` levels, as long as that comes to a page of lines. */
export function openFirst(value: unknown, depth = 2, page = 60): Opened {
  const opened = new Map<string, Span>();
  let level: { path: JsonPath; value: unknown }[] = [{ path: [], value }];
  let lines = 1;
  for (let at = 0; at < depth; at += 1) {
    const next: typeof level = [];
    for (const { path, value: each } of level) {
      const size = sizeOf(each);
      if (!size || lines + Math.min(size, STEP) > page) continue;
      opened.set(idOf(path), FIRST);
      lines += Math.min(size, STEP);
      for (let inner = 0; inner < Math.min(size, STEP); inner += 1) {
        const name = nameAt(each as object, inner);
        next.push({ path: [...path, name], value: (each as Record<string | number, unknown>)[name] });
      }
    }
    level = next;
  }
  // The outermost is open whatever its size: its first members say what it is.
  if (sizeOf(value)) opened.set(idOf([]), FIRST);
  return opened;
}

/** With a hundred more shown on that side of the value. */
export function openMore(
  opened: Opened,
  { path, where }: { path: JsonPath; where: 'before' | 'after' | 'above' },
): Opened {
  const id = idOf(path);
  const { from, to } = opened.get(id) ?? FIRST;
  const more = where === 'before' ? { from: Math.max(0, from - STEP), to } : { from, to: to + STEP };
  return new Map(opened).set(id, more);
}

/** Where the lines begin, so that the path is among them and they are not too deep. */
export function baseFor(path: JsonPath, base: JsonPath): JsonPath {
  const isBelow = base.length <= path.length && base.every((name, at) => name === path[at]);
  if (isBelow && path.length - base.length <= LEVELS) return base;
  return path.slice(0, Math.max(0, path.length - LEVELS_ABOVE));
}

/** With more of the levels above. */
export function baseAbove(base: JsonPath): JsonPath {
  return base.slice(0, Math.max(0, base.length - LEVELS_ABOVE));
}

/**
 * With everything open that leads from `base` to the path. Of a list in which that lies far from what is shown, the hundred around it are
 * shown instead: those between may be a million.
 */
export function openTo(value: unknown, path: JsonPath, opened: Opened, base: JsonPath = []): Opened {
  const next = new Map(opened);
  let at = memberAt(value, base);
  for (let depth = base.length; depth < path.length; depth += 1) {
    const name = path[depth] as string | number;
    if (typeof at !== 'object' || at === null) break;
    const id = idOf(path.slice(0, depth));
    const position = typeof name === 'number' ? name : keysOf(at).indexOf(name);
    next.set(id, spanWith(next.get(id), position));
    at = (at as Record<string | number, unknown>)[name];
  }
  return next;
}

/** How many a list or an object has in it. Undefined: it is neither. */
export function sizeOf(value: unknown): number | undefined {
  if (Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? keysOf(value).length : undefined;
}

/** The beginning of a value in one line, of at most some 80 characters. */
export function previewOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return briefOf(value);
  const size = sizeOf(value) ?? 0;
  const isList = Array.isArray(value);
  let text = '';
  for (let at = 0; at < size; at += 1) {
    const name = nameAt(value, at);
    const inner = briefOf((value as Record<string | number, unknown>)[name]);
    const part = isList ? inner : `${cut(String(name), 20)}: ${inner}`;
    if (text.length + part.length > PREVIEW)
      return `${isList ? '[' : '{ '}${text}${text && ', '}…${isList ? ']' : ' }'}`;
    text += text ? `, ${part}` : part;
  }
  return isList ? `[${text}]` : text ? `{ ${text} }` : '{}';
}

/** A path as code would write it: `order.lines[0]["unit price"]`. */
export function formatPath(path: JsonPath): string {
  const text = path.map((name) => {
    if (typeof name === 'number') return `[${name}]`;
    return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
  });
  return text.join('').replace(/^\./, '');
}

// --- internal ---

function memberAt(value: unknown, path: JsonPath): unknown {
  let at = value;
  for (const name of path) at = (at as Record<string | number, unknown> | null | undefined)?.[name];
  return at;
}

const PREVIEW = 72;

function spanWith(span: Span | undefined, position: number): Span {
  const from = Math.floor(position / STEP) * STEP;
  const to = from + STEP;
  if (!span) return { from, to };
  if (position >= span.from && position < span.to) return span;
  if (from === span.to) return { from: span.from, to };
  return to === span.from ? { from, to: span.to } : { from, to };
}

/** An object is asked for its keys once: it may have a million, and is drawn often. */
const keys = new WeakMap<object, string[]>();

function keysOf(value: object): string[] {
  const known = keys.get(value);
  if (known) return known;
  const made = Object.keys(value);
  keys.set(value, made);
  return made;
}

function nameAt(value: object, at: number): string | number {
  return Array.isArray(value) ? at : (keysOf(value)[at] as string);
}

function toRow(path: JsonPath, name: string | number | undefined, value: unknown, opened: Opened): JsonRow {
  const id = idOf(path);
  const size = sizeOf(value);
  return { kind: 'value', id, depth: path.length, path, name, value, size, isOpen: !!size && opened.has(id) };
}

function briefOf(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(cut(value, 32));
  if (Array.isArray(value)) return value.length === 0 ? '[]' : '[…]';
  if (typeof value === 'object' && value !== null) return keysOf(value).length === 0 ? '{}' : '{…}';
  return String(value);
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
