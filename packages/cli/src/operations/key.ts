import { openClient } from '../client/client.ts';
import { toPlainText } from '../terminal/style.ts';
import type { Style } from '../terminal/style.ts';
import { usageError } from '../errors.ts';
import type { TargetNames } from '../client/target.ts';
import type { Context } from '../context.ts';
import type { OperationForm } from './form.ts';
import type { Row } from './row.ts';
import { LIMIT_FLAGS, readLimits } from './limit-flags.ts';
import { parseSpan, splitList } from './members.ts';

const GRANT_FLAGS = {
  agents: { type: 'string', valueHint: 'names', description: 'The agents it may call, with commas between; or all.' },
  workflows: {
    type: 'string',
    valueHint: 'names',
    description: 'The workflows it may start, with commas between; or all.',
  },
} as const;

const ADDRESS_FLAG = {
  addresses: {
    type: 'string',
    valueHint: 'addresses',
    description: 'Addresses and networks it may be used from, with commas between; or any.',
  },
} as const;

const COUNT = { type: 'string', valueHint: 'count' } as const;

const USER_LIMIT_FLAGS = {
  'user-requests-per-minute': { ...COUNT, description: 'Requests each of its users may send in 60 seconds.' },
  'user-concurrent-turns': { ...COUNT, description: 'Turns of agents each of its users may have at once.' },
  'user-tokens-per-day': { ...COUNT, description: 'Tokens each of its users may use in a day of UTC.' },
  'user-tokens-per-month': { ...COUNT, description: 'The same in a month of UTC.' },
} as const;

/** What `svc keys create` takes and shows. */
export const NEW_KEY: OperationForm = {
  replaces: ['grants', 'limits', 'addresses', 'expiresAt'],
  flags: {
    ...GRANT_FLAGS,
    ...LIMIT_FLAGS,
    ...USER_LIMIT_FLAGS,
    ...ADDRESS_FLAG,
    'expires-in': {
      type: 'string',
      valueHint: 'time',
      description:
        'How long it is valid: 12h, 30d, never. Default: as the settings of the workspace say, else for ever.',
    },
  },
  read: readKey,
  human: formatCreated,
};

/** What `svc keys rotate` shows. */
export const ROTATED_KEY: OperationForm = { human: formatRotated };

/** What `svc keys update` takes. */
export const CHANGED_KEY: OperationForm = {
  replaces: ['grants', 'limits', 'addresses'],
  flags: {
    ...GRANT_FLAGS,
    ...LIMIT_FLAGS,
    ...USER_LIMIT_FLAGS,
    ...ADDRESS_FLAG,
    unlimited: { type: 'boolean', description: 'Takes all its limits away.' },
  },
  read: readChange,
};

// --- internal ---

/**
 * What a key is granted, and until when. A key for nothing at all is no use and is refused; one for a name the box has
 * not got may be meant for a deploy to come: a warning.
 */
async function readKey(args: Record<string, unknown>, context: Context): Promise<Row> {
  const grants = { agents: toGrant('agents', args.agents), workflows: toGrant('workflows', args.workflows) };
  if (grants.agents.length + grants.workflows.length === 0)
    throw usageError('The key would open nothing.', 'Add --agents <names|all> or --workflows <names|all>.');
  const expiresAt = toExpiry(args['expires-in'] as string | undefined);
  for (const { kind, name } of await listUnknown(grants, args, context))
    context.say(`warning: the box has no ${kind} "${name}"; the key is valid for it once there is one.`);
  return { grants, limits: toLimits(args), ...toAddresses(args), ...(expiresAt === undefined ? {} : { expiresAt }) };
}

/** Limits that are given stand in place of all it had. */
async function readChange(args: Record<string, unknown>): Promise<Row> {
  const limits = toLimits(args);
  if (limits && args.unlimited) throw usageError('--unlimited does not go with limits.', 'Give one or the other.');
  const grants = Object.fromEntries(
    (['agents', 'workflows'] as const)
      .filter((flag) => args[flag] !== undefined)
      .map((flag) => [flag, toGrant(flag, args[flag])]),
  );
  return {
    ...(Object.keys(grants).length > 0 ? { grants } : {}),
    ...(limits || args.unlimited ? { limits } : {}),
    ...toAddresses(args),
  };
}

function toLimits(args: Record<string, unknown>): Row | null {
  const [own, users] = [readLimits(args, ''), readLimits(args, 'user-')];
  return own || users ? { ...own, ...(users ? { users } : {}) } : null;
}

type Grant = 'all' | string[];

interface Named {
  kind: string;
  name: string;
}

/** None where the box does not say what it has: the request for the key gets the reason, or works without. */
async function listUnknown(
  grants: { agents: Grant; workflows: Grant },
  target: TargetNames,
  context: Context,
): Promise<Named[]> {
  const wanted = [...toNamed('agent', grants.agents), ...toNamed('workflow', grants.workflows)];
  if (wanted.length === 0) return [];
  const items = await openClient(target, context)
    .list<Named>('/api/catalog')
    .catch(() => wanted);
  return wanted.filter(({ kind, name }) => !items.some((item) => item.kind === kind && item.name === name));
}

function toNamed(kind: string, grant: Grant): Named[] {
  return grant === 'all' ? [] : grant.map((name) => ({ kind, name }));
}

function toGrant(flag: string, text: unknown): Grant {
  if (text === undefined) return [];
  const names = splitList(String(text));
  if (names.length === 0) throw usageError(`--${flag} does not take "${String(text)}".`, `Use names, or all.`);
  if (!names.includes('all')) return names;
  if (names.length === 1) return 'all';
  throw usageError(`--${flag} does not take "${String(text)}".`, 'Use all alone, or names alone.');
}

function toAddresses({ addresses }: Record<string, unknown>): { addresses?: string[] | null } {
  if (addresses === undefined) return {};
  const list = splitList(String(addresses));
  if (list.length === 0 || (list.length > 1 && list.includes('any')))
    throw usageError(`--addresses does not take "${String(addresses)}".`, 'Use addresses and networks, or any alone.');
  return { addresses: list[0] === 'any' ? null : list };
}

function toExpiry(text: string | undefined): string | null | undefined {
  if (text === undefined) return undefined;
  if (text === 'never') return null;
  const span = parseSpan(text);
  const time = span ? new Date(Date.now() + span) : undefined;
  // A date has an end, and the box takes years of four digits.
  if (time && time.getTime() < LAST) return time.toISOString();
  throw usageError(`--expires-in does not take "${text}".`, 'Use a count with s, m, h or d: 12h, 30d; or never.');
}

const LAST = Date.UTC(9999, 0);

function formatRotated(answer: Row, style: Style): string {
  const { id, expiresAt } = answer.replaces as { id: string; expiresAt: string };
  return `${formatCreated(answer, style)}\nThe old one, ${id}, is valid until ${expiresAt}.`;
}

/** The value of a key stands alone on its line, and so does what signs for its users, so that they can be taken from there. */
function formatCreated(answer: Row, style: Style): string {
  const expires = answer.expiresAt === null ? 'never expires' : `expires ${String(answer.expiresAt)}`;
  const made = `${style.green('Created')} key ${toPlainText(String(answer.name))} (${String(answer.id)}), ${expires}:`;
  const signs = answer.userSecret ? ['Tokens of its users are signed with its userSecret:', answer.userSecret] : [];
  return [made, answer.value, ...signs].join('\n');
}
