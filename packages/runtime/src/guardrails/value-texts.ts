/** A text within a value: the name of a member, what it is, or what an element is. A number is read as text, too. */
export interface TextPlace {
  holder: object;
  key: string;
  isName: boolean;
  text: string;
}

/** What each Map and Set has, as the list that its places stand in. */
export type ItemLists = Map<Map<unknown, unknown> | Set<unknown>, unknown[]>;

/**
 * In the order in which they stand there, of what a Map or a Set has, too. However deep a value is, it is read without calls
 * within calls.
 */
export function listTexts(value: unknown, lists: ItemLists = new Map()): TextPlace[] {
  const places: TextPlace[] = [];
  const left: unknown[] = [{ '': value }];
  const seen = new Set<object>();
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const holder = isCollection(next) ? itemsOf(next, lists) : next;
    if (!isHolder(holder) || seen.has(holder)) continue;
    seen.add(holder);
    const inner: unknown[] = [];
    const isList = Array.isArray(holder);
    for (const key of Object.keys(holder)) {
      const item = (holder as Record<string, unknown>)[key];
      if (!isList && key !== '') places.push({ holder, key, isName: true, text: key });
      if (typeof item === 'string' || typeof item === 'number' || typeof item === 'bigint')
        places.push({ holder, key, isName: false, text: String(item) });
      else inner.push(item);
    }
    for (let at = inner.length - 1; at >= 0; at--) left.push(inner[at]);
  }
  return places;
}

/** A copy with other texts in these places, which were found with these lists. */
export function replaceTexts<T>(
  value: T,
  changed: readonly { at: TextPlace; text: string }[],
  lists: ItemLists = new Map(),
): T {
  const names = new Map<object, Map<string, string>>();
  const values = new Map<object, Map<string, string>>();
  for (const { at, text } of changed) {
    const of = at.isName ? names : values;
    const known = of.get(at.holder) ?? new Map<string, string>();
    of.set(at.holder, known.set(at.key, text));
  }
  const copies = new Map<object, object>();
  const collections: { copy: Collection; items: unknown[] }[] = [];
  const left: object[] = [];
  const copyOf = (item: unknown): unknown => {
    if (isCollection(item)) {
      const known = copies.get(item);
      if (known) return known;
      const copy: Collection = item instanceof Map ? new Map() : new Set();
      copies.set(item, copy);
      collections.push({ copy, items: copyOf(itemsOf(item, lists)) as unknown[] });
      return copy;
    }
    if (!isHolder(item)) return item;
    const known = copies.get(item);
    if (known) return known;
    const copy: object = Array.isArray(item) ? [] : {};
    copies.set(item, copy);
    left.push(item);
    return copy;
  };
  const copied = copyOf(value);
  for (let holder = left.pop(); holder !== undefined; holder = left.pop()) {
    const copy = copies.get(holder) as Record<string, unknown>;
    for (const [key, item] of Object.entries(holder)) {
      const name = names.get(holder)?.get(key) ?? key;
      const text = values.get(holder)?.get(key);
      Object.defineProperty(copy, name, {
        value: text ?? copyOf(item),
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
  }
  for (const { copy, items } of collections)
    for (const item of items)
      if (copy instanceof Set) copy.add(item);
      else copy.set(...(item as [unknown, unknown]));
  return copied as T;
}

/** The value as JSON, with lists for Maps and Sets; of what JSON cannot say, as a BigInt or a cycle, its texts. */
export function toJsonText(value: unknown): string {
  try {
    const text = JSON.stringify(value) ?? '';
    // As nothing stands within itself, it ends.
    return hasCollection(value)
      ? JSON.stringify(value, (_, item: unknown) => (isCollection(item) ? [...item] : item))
      : text;
  } catch {
    return listTexts(value)
      .map(({ text }) => text)
      .join('\n');
  }
}

/** What was read as JSON, as JSON again, however deep it is. */
export function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return writeDeep(value);
  }
}

// --- internal ---

/** Without calls within calls. */
function writeDeep(value: unknown): string {
  const written: string[] = [];
  /** The last one comes next: a value, or what surrounds it. */
  const left: { value?: unknown; text?: string }[] = [{ value }];
  for (let next = left.pop(); next; next = left.pop()) {
    const { value: item, text } = next;
    if (text !== undefined) written.push(text);
    else if (typeof item !== 'object' || item === null) written.push(JSON.stringify(item));
    else {
      const isList = Array.isArray(item);
      const names = Object.keys(item);
      left.push({ text: isList ? ']' : '}' });
      for (let at = names.length - 1; at >= 0; at--) {
        const name = names[at] as string;
        left.push({ value: (item as Record<string, unknown>)[name] });
        left.push({ text: `${at > 0 ? ',' : ''}${isList ? '' : `${JSON.stringify(name)}:`}` });
      }
      written.push(isList ? '[' : '{');
    }
  }
  return written.join('');
}

type Collection = Map<unknown, unknown> | Set<unknown>;

function isCollection(value: unknown): value is Collection {
  return value instanceof Map || value instanceof Set;
}

function itemsOf(value: Collection, lists: ItemLists): unknown[] {
  const known = lists.get(value);
  if (known) return known;
  const items: unknown[] = [...value];
  lists.set(value, items);
  return items;
}

function hasCollection(value: unknown): boolean {
  const left = [value];
  while (left.length > 0) {
    const item = left.pop();
    if (isCollection(item)) return true;
    if (!isHolder(item)) continue;
    for (const inner of Array.isArray(item) ? item : Object.values(item))
      if (typeof inner === 'object') left.push(inner);
  }
  return false;
}

function isHolder(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
