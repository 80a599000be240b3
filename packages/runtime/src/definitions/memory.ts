import { checkMembers } from '../definition-checks.ts';

/** Throws a sentence when a part is wrong. */
export function checkMemory(memory: unknown): void {
  if (memory === undefined || typeof memory === 'boolean') return;
  if (typeof memory !== 'object' || memory === null || Array.isArray(memory))
    throw new TypeError(
      `memory is ${JSON.stringify(memory)}; it must be true, false or { topK, minScore, maxTokens }.`,
    );
  checkMembers('memory', memory, ['topK', 'minScore', 'maxTokens']);
  const { topK = 1, minScore = 0, maxTokens = 100 } = memory as Record<string, unknown>;
  if (!isWhole(topK, 1, 20)) throw wrong('topK', topK, 'a whole number from 1 to 20');
  if (!(typeof minScore === 'number' && minScore >= 0 && minScore <= 1))
    throw wrong('minScore', minScore, 'a number from 0 to 1');
  if (!isWhole(maxTokens, 100, 8_000)) throw wrong('maxTokens', maxTokens, 'a whole number from 100 to 8,000');
}

// --- internal ---

function isWhole(value: unknown, least: number, most: number): boolean {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

function wrong(member: string, value: unknown, what: string): TypeError {
  return new TypeError(`memory.${member} is ${JSON.stringify(value) ?? String(value)}; it must be ${what}.`);
}
