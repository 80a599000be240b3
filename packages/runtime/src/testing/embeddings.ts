import type { CallRerank } from '../agents/model/rerank.ts';

/**
 * Vectors for tests: texts that share words are near to each other, and the same text has the same vector everywhere.
 * Each word turns one of its numbers up; the length of each vector is 1.
 */
export function toWordVector(text: string, dimensions = 64): number[] {
  const vector = Array.from({ length: dimensions }, () => 0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text]) {
    const place = hashOf(word) % dimensions;
    vector[place] = (vector[place] ?? 0) + 1;
  }
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** A rerank for tests: by how near the words of a text are to those of the query. */
export const rerankByWords: CallRerank = async ({ query, documents, topN }) => {
  const asked = toWordVector(query);
  const ranking = documents.map((text, index) => ({ index, score: dot(asked, toWordVector(text)) }));
  return { ranking: ranking.sort((a, b) => b.score - a.score).slice(0, topN), inputTokens: 0 };
};

// --- internal ---

function dot(one: readonly number[], other: readonly number[]): number {
  return one.reduce((sum, value, place) => sum + value * (other[place] ?? 0), 0);
}

/** FNV-1a. */
function hashOf(word: string): number {
  let hash = 0x811c9dc5;
  for (const char of word) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash;
}
