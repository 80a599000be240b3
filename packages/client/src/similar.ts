/** What is said of an id that no operation has. */
export function explainUnknown(id: string, ids: readonly string[]): string {
  const similar = similarIds(id, ids);
  const nearest = similar.length > 0 ? ` Similar ones: ${similar.join(', ')}.` : '';
  const shown = id.length > LONGEST ? `${id.slice(0, LONGEST)}…` : id;
  return `There is no operation "${shown}".${nearest}`;
}

// --- internal ---

const MOST = 5;
/** What is asked of a wrong id is bounded: a caller may send any. */
const LONGEST = 200;

/** The ids with most words of the given one, the best first: `runs.logs_stream` for `runs.logs.stream`. */
function similarIds(id: string, ids: readonly string[]): string[] {
  const words = new Set(wordsOf(id));
  return ids
    .map((other) => ({ other, score: wordsOf(other).filter((word) => words.has(word)).length }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.other.length - b.other.length)
    .slice(0, MOST)
    .map(({ other }) => other);
}

function wordsOf(id: string): string[] {
  return id
    .slice(0, LONGEST)
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter(Boolean);
}
