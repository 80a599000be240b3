import { editDistance } from '../../compiler/src/edit-distance.ts';

/** The candidate a person most likely meant, or undefined when none is close. */
export function findNearest(text: string, candidates: readonly string[]): string | undefined {
  const typed = text.toLowerCase();
  const most = allowance(text);
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = measure(typed, candidate.toLowerCase(), most);
    if (distance < (best?.distance ?? Infinity)) best = { candidate, distance };
  }
  return best && best.distance <= most ? best.candidate : undefined;
}

// --- internal ---

/** Of a short word two other letters are most of it. */
function allowance(text: string): number {
  return text.length <= 3 ? 1 : Math.max(2, Math.floor(text.length / 3));
}

/** A prefix of the candidate is always near. What is longer or shorter by more than `most` is not looked at by letter. */
function measure(from: string, to: string, most: number): number {
  if (from.length > 1 && to.startsWith(from)) return 1;
  return Math.abs(from.length - to.length) > most ? Infinity : editDistance(from, to, { swaps: true });
}
