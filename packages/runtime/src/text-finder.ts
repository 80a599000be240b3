/** Finds which of many texts stand in another one. */
export interface TextFinder {
  /**
   * The text with every part replaced that is one of those looked for, or that several of them share by overlapping. Its
   * cost grows with the text, whatever is looked for.
   */
  replace(text: string, replacement: (part: string) => string): string;
}

/** By Aho and Corasick. `wanted` are not empty; what it holds grows with their characters in all. */
export function createTextFinder(wanted: Iterable<string>): TextFinder {
  const texts = [...wanted];
  const trie = createTrie(texts.reduce((sum, text) => sum + text.length, 1));
  for (const text of texts) trie.add(text);
  const { failure, longest } = link(trie);

  /** The state after one more character. */
  const next = (state: number, code: number): number => {
    for (let from = state; ; from = failure[from] ?? 0) {
      const to = trie.find(from, code);
      if (to !== 0 || from === 0) return to;
    }
  };
  return {
    replace(text, replacement) {
      const parts = createParts();
      let state = 0;
      for (let at = 0; at < text.length; at++) {
        state = next(state, text.charCodeAt(at));
        const length = longest[state] ?? 0;
        if (length > 0) parts.add(at + 1 - length, at + 1);
      }
      let out = '';
      let done = 0;
      for (const { from, to } of parts.list) {
        out += text.slice(done, from) + replacement(text.slice(from, to));
        done = to;
      }
      return done === 0 ? text : out + text.slice(done);
    },
  };
}

// --- internal ---

interface Part {
  from: number;
  to: number;
}

/** Parts in their order. Those that overlap become one. */
function createParts(): { readonly list: readonly Part[]; add(from: number, to: number): void } {
  const list: Part[] = [];
  return {
    list,
    /** `to` is never less than before. */
    add(from, to) {
      let begin = from;
      for (let last = list.at(-1); last && last.to > begin; last = list.at(-1)) {
        begin = Math.min(begin, last.from);
        list.pop();
      }
      list.push({ from: begin, to });
    },
  };
}

interface Trie {
  readonly size: number;
  /** Of each node, from the root, which is 0: the one before it, the character that leads to it, how deep it lies. */
  readonly parent: Int32Array;
  readonly code: Uint16Array;
  readonly depth: Int32Array;
  readonly isEnd: Uint8Array;
  add(text: string): void;
  /** 0: there is none. */
  find(node: number, code: number): number;
}

/** Edges lie in one table, by the hash of the node and the character. */
function createTrie(most: number): Trie {
  const parent = new Int32Array(most);
  const code = new Uint16Array(most);
  const depth = new Int32Array(most);
  const isEnd = new Uint8Array(most);
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(most * 2)));
  const last = slots.length - 1;
  let size = 1;
  const slotOf = (node: number, character: number): number => {
    let slot = hash(node, character) & last;
    for (;;) {
      const held = slots[slot] ?? 0;
      if (held === 0 || (parent[held] === node && code[held] === character)) return slot;
      slot = (slot + 1) & last;
    }
  };
  return {
    get size() {
      return size;
    },
    parent,
    code,
    depth,
    isEnd,
    add(text) {
      let node = 0;
      for (let at = 0; at < text.length; at++) {
        const character = text.charCodeAt(at);
        const slot = slotOf(node, character);
        if (slots[slot] === 0) {
          parent[size] = node;
          code[size] = character;
          depth[size] = at + 1;
          slots[slot] = size++;
        }
        node = slots[slot] ?? 0;
      }
      isEnd[node] = 1;
    },
    find: (node, character) => slots[slotOf(node, character)] ?? 0,
  };
}

/** Odd factors of a random-looking kind: neighbours come to lie far apart. */
function hash(node: number, code: number): number {
  const mixed = Math.imul(node, 0x9e3779b1) ^ Math.imul(code + 1, 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}

/** Of each node: where to go on when no edge fits, and how long the longest text is that ends there. 0: none. */
function link(trie: Trie): { failure: Int32Array; longest: Int32Array } {
  const failure = new Int32Array(trie.size);
  const longest = new Int32Array(trie.size);
  for (const node of byDepth(trie)) {
    const code = trie.code[node] ?? 0;
    let from = trie.parent[node] ?? 0;
    let to = 0;
    while (from !== 0 && to === 0) {
      from = failure[from] ?? 0;
      to = trie.find(from, code);
    }
    failure[node] = to;
    longest[node] = trie.isEnd[node] ? (trie.depth[node] ?? 0) : (longest[to] ?? 0);
  }
  return { failure, longest };
}

/** Without the root. */
function byDepth({ size, depth }: Trie): Int32Array {
  const counts: number[] = [];
  for (let node = 1; node < size; node++) counts[depth[node] ?? 0] = (counts[depth[node] ?? 0] ?? 0) + 1;
  let sum = 0;
  const starts = Array.from(counts, (count = 0) => {
    sum += count;
    return sum - count;
  });
  const sorted = new Int32Array(size - 1);
  for (let node = 1; node < size; node++) {
    const at = depth[node] ?? 0;
    sorted[starts[at] ?? 0] = node;
    starts[at] = (starts[at] ?? 0) + 1;
  }
  return sorted;
}
