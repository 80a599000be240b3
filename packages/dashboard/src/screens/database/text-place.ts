export interface TextPlace {
  /** From 1. */
  line: number;
  column: number;
  /** Where it begins and ends in the text, as a field counts. */
  from: number;
  to: number;
  /** The line around it: what is before, the word at it, what comes after. */
  around: readonly [before: string, word: string, after: string];
}

/** @param position from 1, in characters, as Postgres counts them */
export function toTextPlace(text: string, position: number): TextPlace {
  let from = 0;
  for (let n = 1; n < position && from < text.length; n += 1) from += (text.codePointAt(from) ?? 0) > 0xffff ? 2 : 1;
  const start = from === 0 ? 0 : text.lastIndexOf('\n', from - 1) + 1;
  const rest = text.indexOf('\n', from);
  const end = rest === -1 ? text.length : rest;
  const word = /^(?:\w+|\S)/u.exec(text.slice(from, end))?.[0] ?? '';
  const to = from + word.length;
  return {
    line: countLines(text, start),
    column: countCharacters(text.slice(start, from)) + 1,
    from,
    to,
    around: [text.slice(Math.max(start, from - AROUND), from), word, text.slice(to, Math.min(end, to + AROUND))],
  };
}

// --- internal ---

const AROUND = 60;

function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function countLines(text: string, until: number): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < until; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}
