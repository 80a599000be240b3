/**
 * Insertions, deletions and replacements of letters that make one text of the other. `swaps`: two neighbours that change
 * places count as one, not as two.
 */
export function editDistance(from: string, to: string, { swaps = false }: { swaps?: boolean } = {}): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, j) => j);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const swapped = swaps && i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const least = Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
      next.push(swapped ? Math.min(least, (before[j - 2] ?? 0) + 1) : least);
    }
    before = row;
    row = next;
  }
  return row[to.length] ?? 0;
}
