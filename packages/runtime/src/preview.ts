import { LISTED_BYTES } from './engine/journal/reading.ts';
import { bytesOf, isRef } from './engine/values/large-ref.ts';

/** Characters of a value that a list shows. */
const SHOWN = 500;

/**
 * The beginning of a recorded value as JSON, of a text that was cut off somewhere: `…` stands for what is not there. Of one
 * that is in object storage its size.
 * @param text the beginning of what `encode` made
 */
export function previewOf(text: string): string {
  if (isRef(text)) return `${GONE} ${bytesOf(text)} bytes`;
  const json = text.startsWith('2') ? text.slice(1) : JSON.stringify(createHydrate(readItems(text.slice(1)))(0));
  return beginningOf(json);
}

/** The beginning of a value that is JSON, where it is too large for a list; undefined: it is not. */
export function previewOfLarge(value: unknown): string | undefined {
  const json = JSON.stringify(value) ?? 'null';
  return Buffer.byteLength(json) > LISTED_BYTES ? beginningOf(json) : undefined;
}

/** So many characters of it, and a `…` where there are more. */
export function beginningOf(json: string, shown = SHOWN): string {
  return json.length < shown ? json : `${json.slice(0, shown).replace(HALF_CHARACTER, '')}${GONE}`;
}

// --- internal ---

const GONE = '…';
const HALF_CHARACTER = /[\ud800-\udbff]$/;

/** The codec writes one array of all values, which name each other by their places: those that are whole. */
function readItems(text: string): unknown[] {
  let end = 0;
  let depth = 0;
  let inText = false;
  for (let at = 0; at < text.length; at++) {
    const unit = text[at];
    if (inText) {
      if (unit === '\\') at += 1;
      else if (unit === '"') inText = false;
    } else if (unit === '"') inText = true;
    else if (unit === '[' || unit === '{') depth += 1;
    else if (unit === ']' || unit === '}') depth -= 1;
    else if (unit === ',' && depth === 1) end = at;
  }
  return end === 0 ? [] : (JSON.parse(`${text.slice(0, end)}]`) as unknown[]);
}

/** An object that occurs in many places is written in each, so the number of places is bounded. */
function createHydrate(items: unknown[]): (place: unknown) => unknown {
  const parents = new Set<number>();
  let left = SHOWN;
  const hydrate = (place: unknown): unknown => {
    if (typeof place !== 'number' || place < 0) return null;
    left -= 1;
    if (left < 0 || place >= items.length || parents.has(place)) return GONE;
    const item = items[place];
    if (typeof item !== 'object' || item === null) return item;
    parents.add(place);
    const value = Array.isArray(item)
      ? hydrateList(item, hydrate)
      : Object.fromEntries(Object.entries(item).map(([key, of]) => [key, hydrate(of)]));
    parents.delete(place);
    return value;
  };
  return hydrate;
}

/** A list begins with a place; what begins with a name is of that kind: a date, a set, an instance of a class. */
function hydrateList(item: unknown[], inner: (of: unknown) => unknown): unknown {
  if (typeof item[0] !== 'string') return item.map(inner);
  const [kind, of] = item;
  if (kind === 'Date' || kind === 'BigInt') return of;
  return kind === 'Set' ? item.slice(1).map(inner) : GONE;
}
