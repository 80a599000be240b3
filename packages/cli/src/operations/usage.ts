import { toPlainText } from '../terminal/style.ts';
import type { Row } from './row.ts';

/** What is used of each limit: one line for each. */
export function formatUsage({ kind, id, limits, ...used }: Row): string {
  const most = limits as Record<string, number | null | undefined>;
  const lines = LINES.map(([word, member, limit]) => {
    const count = most[limit];
    return `  ${word.padEnd(WIDTH)}${String(used[member])}${count ? ` of ${count}` : ', no limit'}`;
  });
  return [`${String(kind)} ${toPlainText(String(id))}`, ...lines].join('\n');
}

// --- internal ---

const LINES = [
  ['requests in the last minute', 'requests', 'requestsPerMinute'],
  ['turns under way', 'turns', 'concurrentTurns'],
  ['tokens today', 'tokensToday', 'tokensPerDay'],
  ['tokens this month', 'tokensThisMonth', 'tokensPerMonth'],
] as const;
const WIDTH = 30;
