/** Something that the palette leads to. */
export interface Choice {
  /** No two have the same. */
  id: string;
  /** What it is: `screen`, `run, failed`. */
  kind: string;
  title: string;
  to: string;
  search?: Record<string, string>;
}

/**
 * Those whose title holds the text, of any case: what is called so first, then what begins so, then where a word of it does.
 * An empty text holds in all, in their order.
 */
export function rank(choices: readonly Choice[], text: string): Choice[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return [...choices];
  return choices
    .map((choice) => ({ choice, place: placeOf(choice.title.toLowerCase(), wanted) }))
    .filter(({ place }) => place < NOWHERE)
    .sort((a, b) => a.place - b.place)
    .map(({ choice }) => choice);
}

// --- internal ---

const NOWHERE = 4;

function placeOf(title: string, wanted: string): number {
  if (title === wanted) return 0;
  if (title.startsWith(wanted)) return 1;
  const at = title.indexOf(wanted);
  if (at < 0) return NOWHERE;
  return /[\s_./-]/.test(title[at - 1] ?? '') ? 2 : 3;
}
