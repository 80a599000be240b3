import type { BoxContext } from '../../app/box.ts';

export interface Kept {
  /** What is in the editor. */
  statement: string;
  /** What was run, the newest first. */
  history: readonly string[];
}

/**
 * What a person has written here, for as long as the page is open. It is not in the address, which is sent around, written
 * down and up to a few thousand characters: a statement may name people, and have a hundred thousand.
 */
export function readKept(box: BoxContext): Kept {
  return kept.get(box) ?? { statement: '', history: [] };
}

export function keep(box: BoxContext, what: Kept): void {
  kept.set(box, what);
}

export function remember({ history }: Kept, statement: string): readonly string[] {
  return [statement, ...history.filter((other) => other !== statement)].slice(0, MOST);
}

// --- internal ---

const MOST = 30;
const kept = new WeakMap<BoxContext, Kept>();
