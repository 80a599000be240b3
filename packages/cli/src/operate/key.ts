import { usageError } from '../errors.ts';
import type { Row } from './columns.ts';
import { parseSpan, splitList } from './members.ts';

export const KEY_FLAGS = {
  agents: { type: 'string', valueHint: 'names', description: 'The agents it may call, with commas between; or all.' },
  workflows: {
    type: 'string',
    valueHint: 'names',
    description: 'The workflows it may start, with commas between; or all.',
  },
  'expires-in': { type: 'string', valueHint: 'time', description: 'How long it is good: 12h, 30d. Default: for ever.' },
} as const;

/** What a key is granted, and until when. A key for nothing at all is no use and is refused. */
export async function readKey(args: Record<string, unknown>): Promise<Row> {
  const grants = { agents: toGrant('agents', args.agents), workflows: toGrant('workflows', args.workflows) };
  if (grants.agents.length + grants.workflows.length === 0)
    throw usageError('The key would open nothing.', 'Add --agents <names|all> or --workflows <names|all>.');
  return { grants, expiresAt: toExpiry(args['expires-in'] as string | undefined) };
}

// --- internal ---

function toGrant(flag: string, text: unknown): 'all' | string[] {
  if (text === undefined) return [];
  const names = splitList(String(text));
  if (names.length === 0) throw usageError(`--${flag} does not take "${String(text)}".`, `Use names, or all.`);
  if (!names.includes('all')) return names;
  if (names.length === 1) return 'all';
  throw usageError(`--${flag} does not take "${String(text)}".`, 'Use all alone, or names alone.');
}

function toExpiry(text: string | undefined): string | null {
  if (text === undefined) return null;
  const span = parseSpan(text);
  const time = span ? new Date(Date.now() + span) : undefined;
  // A date has an end, and the box takes years of four digits.
  if (time && time.getTime() < LAST) return time.toISOString();
  throw usageError(`--expires-in does not take "${text}".`, 'Use a count with s, m, h or d: 12h, 30d.');
}

const LAST = Date.UTC(9999, 0);
