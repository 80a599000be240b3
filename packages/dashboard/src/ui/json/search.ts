import type { JsonPath } from './rows.ts';

export interface SearchOptions {
  signal?: AbortSignal;
  /** Milliseconds of work before others have a turn. */
  sliceMs?: number;
  mostHits?: number;
}

export interface SearchResult {
  hits: JsonPath[];
  /** There are more than are given. */
  isCut: boolean;
}

/**
 * Where a text is among the names and values, whichever case it is in, in the order they are shown. Works in slices, so
 * that the page stays alive over a value of any size and depth. Throws when the signal says so.
 */
export async function searchJson(value: unknown, query: string, options: SearchOptions = {}): Promise<SearchResult> {
  const { signal, sliceMs = 12, mostHits = 200 } = options;
  const wanted = query.toLowerCase();
  const hits: JsonPath[] = [];
  if (wanted === '') return { hits, isCut: false };
  const has = (text: string): boolean => text.toLowerCase().includes(wanted);
  if (isHit(value, has)) hits.push([]);
  const path: (string | number)[] = [];
  const levels = isOpenable(value) ? [toLevel(value)] : [];
  let until = performance.now() + sliceMs;
  for (let seen = 1; levels.length > 0; seen += 1) {
    if (seen % 256 === 0 && performance.now() > until) {
      await turn();
      signal?.throwIfAborted();
      until = performance.now() + sliceMs;
    }
    const level = levels.at(-1) as Level;
    const name = level.names ? level.names[level.at] : level.at;
    if (level.at >= level.size || name === undefined) {
      levels.pop();
      path.pop();
      continue;
    }
    level.at += 1;
    const inner = (level.of as Record<string | number, unknown>)[name];
    if ((typeof name === 'string' && has(name)) || isHit(inner, has)) {
      if (hits.length === mostHits) return { hits, isCut: true };
      hits.push([...path, name]);
    }
    if (!isOpenable(inner)) continue;
    levels.push(toLevel(inner));
    path.push(name);
  }
  return { hits, isCut: false };
}

// --- internal ---

interface Level {
  of: object;
  /** Undefined: it is a list. */
  names: string[] | undefined;
  size: number;
  at: number;
}

function isOpenable(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function toLevel(of: object): Level {
  const names = Array.isArray(of) ? undefined : Object.keys(of);
  return { of, names, size: names?.length ?? (of as unknown[]).length, at: 0 };
}

function isHit(value: unknown, has: (text: string) => boolean): boolean {
  return !isOpenable(value) && has(String(value));
}

/** A message rather than a timer: those of a page wait at least 4 ms once they are nested. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener('message', () => {
      port1.close();
      resolve();
    });
    port1.start();
    port2.postMessage(undefined);
  });
}
