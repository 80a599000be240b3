import { createFound } from './finder.ts';
import type { CreateFinder, Finder, View } from './finder.ts';

export interface WordsOptions {
  words: readonly string[];
  ignoreCase: boolean;
  wholeWord: boolean;
}

/** However many words there are, a text is read once. */
export function createWordsFinder({ words, ignoreCase, wholeWord }: WordsOptions): CreateFinder {
  const fold = ignoreCase ? toLower : (code: number) => code;
  const tree = createTree(words, fold);
  const classes = toClasses(tree, fold);
  /** From `at` on, the first place where a word may begin. */
  const skip = (text: string, at: number): number => {
    let isInWord = wholeWord && at > 0 && isWordCode(text.charCodeAt(at - 1));
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code >= 128) return at;
      const kind = classes[code] as number;
      if (!isInWord && (kind & BEGINS) !== 0) return at;
      isInWord = wholeWord && (kind & IN_WORD) !== 0;
    }
    return at;
  };
  return (): Finder => {
    const found = createFound();
    let node = ROOT;
    let at = 0;
    /** Words that end with the last character: whole ones, unless the next one goes on. */
    let ended: number[] = [];
    const settle = (next: number | undefined): void => {
      const isWhole = !wholeWord || next === undefined || !isWordCode(next);
      if (isWhole) for (const start of ended) found.add({ start, end: at, label: 'word' });
      ended = [];
    };
    const decide = (): number => {
      const under = at - tree.depth(node);
      // The longest of those that have ended began first.
      return ended.length === 0 ? under : Math.min(under, ended[0] as number);
    };
    const finder = {
      take: found.take,
      decided: 0,
      read({ text, base, isEnd }: View): void {
        const end = base + text.length;
        while (at < end) {
          if (node === ROOT && ended.length === 0) {
            at = base + skip(text, at - base);
            if (at === end) break;
          }
          const code = text.charCodeAt(at - base);
          if (ended.length > 0) settle(code);
          node = tree.step(node, fold(code));
          at += 1;
          if (node === ROOT) continue;
          for (let out = tree.ends(node); out !== NONE; out = tree.ends(tree.fail(out))) {
            const start = at - tree.depth(out);
            const before = start > base ? text.charCodeAt(start - 1 - base) : undefined;
            if (!wholeWord || before === undefined || !isWordCode(before)) ended.push(start);
            if (!wholeWord) break;
          }
        }
        if (isEnd) {
          settle(undefined);
          node = ROOT;
        }
        finder.decided = decide();
      },
    };
    return finder;
  };
}

// --- internal ---

const ROOT = 0;
const NONE = -1;
/** Nodes whose next ones are kept in a table by character, of half a kilobyte each: those a text comes to first. */
const MOST_ROWS = 4_096;

/** The words as one machine: each node is a beginning of a word, and knows the longest shorter one that ends like it. */
interface Tree {
  step(node: number, code: number): number;
  depth(node: number): number;
  fail(node: number): number;
  /** The node itself or the next of its shorter ones that is a word. */
  ends(node: number): number;
}

function createTree(words: readonly string[], fold: (code: number) => number): Tree {
  const depths = [0];
  const isWord = [false];
  const children = new Map<number, number>();
  const keyOf = (node: number, code: number): number => node * 65_536 + code;
  const edges: [node: number, code: number, child: number][] = [];
  for (const word of words) {
    let node = ROOT;
    for (let index = 0; index < word.length; index++) {
      const code = fold(word.charCodeAt(index));
      let child = children.get(keyOf(node, code));
      if (child === undefined) {
        child = depths.length;
        depths.push(index + 1);
        isWord.push(false);
        children.set(keyOf(node, code), child);
        edges.push([node, code, child]);
      }
      node = child;
    }
    if (node !== ROOT) isWord[node] = true;
  }
  const fails = new Int32Array(depths.length);
  const outs = new Int32Array(depths.length).fill(NONE);
  const step = (from: number, code: number): number => {
    for (let node = from; ; node = fails[node] as number) {
      const child = children.get(keyOf(node, code));
      if (child !== undefined) return child;
      if (node === ROOT) return ROOT;
    }
  };
  // Shorter ones first: what a node falls back to is shorter than it.
  edges.sort(([, , a], [, , b]) => (depths[a] as number) - (depths[b] as number));
  for (const [node, code, child] of edges) {
    fails[child] = node === ROOT ? ROOT : step(fails[node] as number, code);
    outs[child] = isWord[child] ? child : (outs[fails[child] as number] as number);
  }
  const rows: (Int32Array | undefined)[] = [];
  let rowsLeft = MOST_ROWS;
  const makeRow = (node: number): Int32Array | undefined => {
    if (rowsLeft === 0) return undefined;
    rowsLeft -= 1;
    return (rows[node] = new Int32Array(128).fill(NONE));
  };
  return {
    step(node, code) {
      const row = code < 128 ? (rows[node] ?? makeRow(node)) : undefined;
      if (!row) return step(node, code);
      const known = row[code] as number;
      return known === NONE ? (row[code] = step(node, code)) : known;
    },
    depth: (node) => depths[node] as number,
    fail: (node) => fails[node] as number,
    ends: (node) => outs[node] as number,
  };
}

function toLower(code: number): number {
  if (code < 128) return code >= 65 && code <= 90 ? code + 32 : code;
  const lower = String.fromCharCode(code).toLowerCase();
  return lower.length === 1 ? lower.charCodeAt(0) : code;
}

/** What a character of ASCII is: the beginning of a word of the list, and a part of a word. */
const BEGINS = 1;
const IN_WORD = 2;

function toClasses(tree: Tree, fold: (code: number) => number): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => {
    const begins = tree.step(ROOT, fold(code)) === ROOT ? 0 : BEGINS;
    return begins | (isWordCode(code) ? IN_WORD : 0);
  });
}

const WORD = /[\p{L}\p{N}_]/u;

function isWordCode(code: number): boolean {
  if (code >= 128) return WORD.test(String.fromCharCode(code));
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95;
}
