import { editDistance } from '../../compiler/src/edit-distance.ts';

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

/** A prefix of the candidate is always near. */
function measure(from: string, to: string): number {
  return from.length > 1 && to.startsWith(from) ? 1 : editDistance(from, to, { swaps: true });
}
