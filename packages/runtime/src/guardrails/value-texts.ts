/** A text within a value: the name of a member, what it is, or what an element is. A number is read as text, too. */
export interface TextPlace {
  holder: object;
  key: string;
  isName: boolean;
  text: string;
}

/** In the order in which they stand there. However deep a value is, it is read without calls within calls. */
export function listTexts(value: unknown): TextPlace[] {
  const places: TextPlace[] = [];
  const left: unknown[] = [{ '': value }];
  const seen = new Set<object>();
  for (let holder = left.pop(); holder !== undefined; holder = left.pop()) {
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

/** A copy with other texts in these places. */
export function replaceTexts<T>(value: T, changed: readonly { at: TextPlace; text: string }[]): T {
  const names = new Map<object, Map<string, string>>();
  const values = new Map<object, Map<string, string>>();
  for (const { at, text } of changed) {
    const of = at.isName ? names : values;
    const known = of.get(at.holder) ?? new Map<string, string>();
    of.set(at.holder, known.set(at.key, text));
  }
  const copies = new Map<object, object>();
  const left: object[] = [];
  const copyOf = (item: unknown): unknown => {
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
  return copied as T;
}

// --- internal ---

function isHolder(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
