/** The candidate a person most likely meant, or undefined when none is close. */
export function findNearest(text: string, candidates: readonly string[]): string | undefined {
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = measure(text.toLowerCase(), candidate.toLowerCase());
    if (distance < (best?.distance ?? Infinity)) best = { candidate, distance };
  }
  return best && best.distance <= allowance(text) ? best.candidate : undefined;
}

// --- internal ---

/** Of a short word two other letters are most of it. */
function allowance(text: string): number {
  return text.length <= 3 ? 1 : Math.max(2, Math.floor(text.length / 3));
}

/** Insertions, deletions, replacements and swaps of neighbours. A prefix of the candidate is always near. */
function measure(from: string, to: string): number {
  if (from.length > 1 && to.startsWith(from)) return 1;
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? Infinity;
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= to.length; j += 1) {
      const same = from[i - 1] === to[j - 1];
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      row.push(
        Math.min(
          at(i - 1, j) + 1,
          at(i, j - 1) + 1,
          at(i - 1, j - 1) + (same ? 0 : 1),
          swapped ? at(i - 2, j - 2) + 1 : Infinity,
        ),
      );
    }
  }
  return at(from.length, to.length);
}
