import { openClient } from '../client/client.ts';
import { toPlainText } from '../terminal/style.ts';
import type { Style } from '../terminal/style.ts';
import { usageError } from '../errors.ts';
import type { TargetNames } from '../client/target.ts';
import type { Context } from '../context.ts';
import type { OperateForm } from './form.ts';
import type { Row } from './row.ts';
import { parseSpan, splitList } from './members.ts';

/** What `svc keys create` takes and shows. */
export const NEW_KEY: OperateForm = {
  replaces: ['grants', 'expiresAt'],
  flags: {
    agents: { type: 'string', valueHint: 'names', description: 'The agents it may call, with commas between; or all.' },
    workflows: {
      type: 'string',
      valueHint: 'names',
      description: 'The workflows it may start, with commas between; or all.',
    },
    'expires-in': {
      type: 'string',
      valueHint: 'time',
      description: 'How long it is good: 12h, 30d. Default: for ever.',
    },
  },
  read: readKey,
  human: formatCreated,
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
    context.say(`warning: the box has no ${kind} "${name}"; the key is good for it once there is one.`);
  return { grants, expiresAt };
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
  const { items } = await openClient(target, context)
    .get<{ items: Named[] }>('/api/catalog')
    .catch(() => ({ items: wanted }));
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

function toExpiry(text: string | undefined): string | null {
  if (text === undefined) return null;
  const span = parseSpan(text);
  const time = span ? new Date(Date.now() + span) : undefined;
  // A date has an end, and the box takes years of four digits.
  if (time && time.getTime() < LAST) return time.toISOString();
  throw usageError(`--expires-in does not take "${text}".`, 'Use a count with s, m, h or d: 12h, 30d.');
}

const LAST = Date.UTC(9999, 0);

/** The value of a key stands alone on its line, so that it can be taken from there. */
function formatCreated(answer: Row, style: Style): string {
  const expires = answer.expiresAt === null ? 'never expires' : `expires ${String(answer.expiresAt)}`;
  return `${style.green('Created')} key ${toPlainText(String(answer.name))} (${String(answer.id)}), ${expires}:\n${String(answer.value)}`;
}
