import { parseArgs } from 'node:util';
import { createActivity } from '../activity/activity.ts';
import { OPERATOR } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { createSecurityLog } from '../auth/security-log.ts';
import { createCloser } from '../box/closer.ts';
import { parseDuration } from '../engine/duration.ts';
import { BoxError } from '../errors.ts';
import { createApiKeys } from '../keys/api-keys.ts';
import type { ApiKeys } from '../keys/api-keys.ts';
import { createUserSecrets } from '../keys/user-secrets.ts';
import { createLog } from '../log.ts';
import type { LogRecord } from '../log.ts';
import { toNewEntry } from '../logs/entry.ts';
import { createLogStore } from '../logs/store.ts';
import { createMask } from '../mask.ts';
import type { Operation } from '../operations/define.ts';
import { loadMasterKey } from '../secrets/master-key.ts';
import { parseInput } from '../surface/call.ts';
import { createSettings } from '../settings/settings.ts';
import { OPERATIONS } from '../surface/index.ts';
import type { Rooms } from '../surface/rooms.ts';
import { readEnvironment } from './environment.ts';
import { findIdentity } from './identity.ts';
import { listEntries } from './rules.ts';
import { openServerDatabase, openServerKv, toDatabaseError } from './server-stores.ts';

export const KEYS_USAGE = `Makes, lists and revokes API keys of the box of this environment, from inside its container.

  svc-box keys create --name <name> [--agents <names|all>] [--workflows <names|all>]
                      [--client <name>] [--users] [--expires-in 30d|never]
                      [--addresses <addresses and networks>]
  svc-box keys list
  svc-box keys revoke <id>

\`create\` prints the key on stdout, alone: it is not kept, and never shown again.`;

/** `svc-box keys …`: whoever may run it has the secrets of the box, so no credential is asked for. */
export async function runKeysCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<KeysOutput> {
  const asked = readArguments(argv);
  if (asked === undefined) return { stdout: KEYS_USAGE, stderr: '' };
  const environment = readEnvironment(env);
  const closer = createCloser();
  const { signal } = new AbortController();
  try {
    const database = openServerDatabase(environment.databaseUrl, environment);
    closer.add(() => database.close());
    await database.ready.catch((error: unknown) => {
      throw toDatabaseError(error);
    });
    const key = await loadMasterKey({ value: environment.secretKey, file: undefined });
    const identity = await findIdentity({ database, key, given: environment.identity });
    if (!identity)
      throw new BoxError(
        'store_unavailable',
        'The box of this database has not started yet. Start it once, then make its keys.',
      );
    const log = createLog({
      level: 'error',
      write: (line) => process.stderr.write(`${line}\n`),
      mask: createMask(environment.variables),
    });
    // The log of the box is that of another process: what this one has to say there is stored beside it.
    const records: LogRecord[] = [];
    const security = createSecurityLog({ log });
    log.listen('info', (record) => records.push(record));
    // Replicas that serve are notified of what is revoked.
    const kv = openServerKv({ environment, identity, log });
    closer.add(() => kv.close());
    const { db } = database;
    const settings = createSettings({ db, kv, ...NO_CODE });
    closer.add(() => settings.close());
    const userSecrets = createUserSecrets({ db, key });
    const keys = createApiKeys({ db, kv, userSecrets, findDays: settings.keyDays });
    closer.add(() => keys.close());
    const activity = createActivity({ db, log, findAsker: async () => undefined, mayRead: () => true });
    const call = async (id: string, input: object): Promise<unknown> => {
      const op = operationOf(id);
      const parsed = await parseInput(op, input);
      const answer = await op.handle({ keys } as Rooms, parsed, { caller: CONTAINER, source: 'command', signal });
      if (op.kind === 'read') return answer;
      const facts = { operation: id, caller: CONTAINER, source: 'command' } as const;
      await activity.record({ ...facts, target: {}, after: withoutSecrets(op, answer) });
      security.called('credentials_changed', { ...facts, target: { id: String(Object(answer).id) } });
      await createLogStore(db).append(records.splice(0).map(toNewEntry));
      return answer;
    };
    return await asked(call);
  } finally {
    await closer.close();
  }
}

export interface KeysOutput {
  stdout: string;
  stderr: string;
}

// --- internal ---

type Call = (operation: string, input: object) => Promise<unknown>;

/** What the bundle says is not asked for. */
const NO_CODE = { environmentModel: () => undefined, codeModel: () => undefined, codeMcpTools: () => false };

const CONTAINER: Caller = { ...OPERATOR, id: 'container', name: 'container' };

/** What the arguments ask for; undefined: how it is used. Throws `invalid_request`. */
function readArguments([verb, ...rest]: readonly string[]): ((call: Call) => Promise<KeysOutput>) | undefined {
  if (verb === undefined || verb === '--help' || verb === '-h' || rest.includes('--help')) return undefined;
  if (verb === 'create') return readCreate(rest);
  const { positionals } = parse(rest, {});
  if (verb === 'list' && positionals.length === 0) return listAll;
  const [id, ...more] = positionals;
  if (verb === 'revoke' && id !== undefined && more.length === 0) return (call) => revoke(call, id);
  throw usage(`"svc-box keys ${[verb, ...rest].join(' ')}" is no command.`);
}

function readCreate(rest: readonly string[]): (call: Call) => Promise<KeysOutput> {
  const text = { type: 'string' } as const;
  const { values, positionals } = parse(rest, {
    name: text,
    agents: text,
    workflows: text,
    client: text,
    users: { type: 'boolean' },
    'expires-in': text,
    addresses: text,
  });
  const { name, agents, workflows, client, users, addresses, 'expires-in': expiresIn } = values;
  if (positionals.length > 0) throw usage(`"${positionals[0]}" is no flag of "svc-box keys create".`);
  if (name === undefined) throw usage('A key has a name: add --name <name>.');
  const grants = { agents: toGrant(agents), workflows: toGrant(workflows) };
  if (grants.agents.length + grants.workflows.length === 0)
    throw usage('The key would open nothing: add --agents <names|all> or --workflows <names|all>.');
  const input = {
    name,
    grants,
    ...(client === undefined ? {} : { client }),
    users: users === true,
    ...(addresses === undefined ? {} : { addresses: listEntries(String(addresses)) }),
    ...(expiresIn === undefined ? {} : { expiresAt: expiresIn === 'never' ? null : toExpiry(String(expiresIn)) }),
  };
  return async (call) => {
    const made = (await call('keys.create', input)) as Awaited<ReturnType<ApiKeys['create']>>;
    const secret = made.userSecret === null ? '' : ` Its user secret, never shown again either: ${made.userSecret}.`;
    return { stdout: made.value, stderr: `Created the key "${made.name}" (${made.id}).${secret}` };
  };
}

async function listAll(call: Call): Promise<KeysOutput> {
  const lines: string[] = [];
  let cursor: string | null | undefined;
  do {
    const page = (await call('keys.list', { limit: 100, ...(cursor ? { cursor } : {}) })) as Awaited<
      ReturnType<ApiKeys['list']>
    >;
    for (const { id, prefix, status, name } of page.items) lines.push([id, prefix, status, name].join('  '));
    cursor = page.nextCursor;
  } while (cursor !== null);
  return { stdout: lines.join('\n'), stderr: lines.length === 0 ? 'There are no API keys.' : '' };
}

async function revoke(call: Call, id: string): Promise<KeysOutput> {
  const { name } = (await call('keys.revoke', { id })) as Awaited<ReturnType<ApiKeys['revoke']>>;
  return { stdout: '', stderr: `Revoked the key "${name}" (${id}).` };
}

type Flags = Record<string, { type: 'string' } | { type: 'boolean' }>;

function parse<F extends Flags>(args: readonly string[], options: F) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw usage((error as Error).message.split('. ')[0] + '.');
  }
}

function toGrant(text: unknown): 'all' | string[] {
  if (text === undefined) return [];
  if (text === 'all') return 'all';
  return listEntries(String(text));
}

function toExpiry(text: string): string {
  try {
    return new Date(Date.now() + parseDuration(text)).toISOString();
  } catch {
    throw usage(`--expires-in: "${text}" is not a duration. Use text such as 12h or 30d.`);
  }
}

function operationOf(id: string): Operation {
  const found = OPERATIONS.find((op) => op.id === id);
  if (!found) throw new Error(`There is no operation "${id}".`);
  return found;
}

function withoutSecrets({ secret = [] }: Operation, answer: unknown): unknown {
  return Object.fromEntries(Object.entries(Object(answer) as object).filter(([name]) => !secret.includes(name)));
}

function usage(problem: string): BoxError {
  return new BoxError('invalid_request', `${problem}\n\n${KEYS_USAGE}`);
}
