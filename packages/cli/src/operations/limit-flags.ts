import { usageError } from '../errors.ts';
import type { Row } from './row.ts';

export const LIMIT_FLAGS = {
  'requests-per-minute': { type: 'string', valueHint: 'count', description: 'Requests it may send in 60 seconds.' },
  'concurrent-turns': { type: 'string', valueHint: 'count', description: 'Turns of agents it may have at once.' },
  'tokens-per-day': { type: 'string', valueHint: 'count', description: 'Tokens of models it may use in a day of UTC.' },
  'tokens-per-month': { type: 'string', valueHint: 'count', description: 'The same in a month of UTC.' },
} as const;

/** The limits that flags of these names say, after the prefix. Undefined: none of them. */
export function readLimits(args: Record<string, unknown>, prefix: string): Row | undefined {
  const given = Object.entries(LIMIT_OF)
    .map(([flag, member]) => [`${prefix}${flag}`, member] as const)
    .filter(([flag]) => args[flag] !== undefined);
  if (given.length === 0) return undefined;
  return Object.fromEntries(given.map(([flag, member]) => [member, toCount(flag, String(args[flag]))]));
}

// --- internal ---

const LIMIT_OF: Record<keyof typeof LIMIT_FLAGS, string> = {
  'requests-per-minute': 'requestsPerMinute',
  'concurrent-turns': 'concurrentTurns',
  'tokens-per-day': 'tokensPerDay',
  'tokens-per-month': 'tokensPerMonth',
};

function toCount(flag: string, text: string): number {
  if (/^[1-9]\d{0,12}$/.test(text)) return Number(text);
  throw usageError(`--${flag} does not take "${text}".`, 'Use a whole number from 1.');
}
