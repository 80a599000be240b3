import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { CLI_CODES } from '../src/errors.ts';
import { runCli } from './_run.ts';
import type { CliResult } from '../src/main.ts';
import { listBadCases, listLeaves, readTree, shortOf } from './_bad-input.ts';
import type { BadCase, Base } from './_bad-input.ts';
import { startSignedIn } from './_plane.ts';
import { openFullBox, seedEvals } from './_seeded.ts';
import type { Seeds } from './_seeded.ts';
import { makeProject } from './_setup.ts';

type Leaves = ReturnType<typeof listLeaves>;

const boxes = setupBoxes();
/** One box for all groups: it must be the same after each verb. */
let seeded: Promise<Seeds & { evalRun: string }> | undefined;
const openSeeds = () =>
  (seeded ??= openFullBox({ ...boxes, open: (options) => boxes.share(options)() }).then(async (seeds) => ({
    ...seeds,
    evalRun: await seedEvals(seeds.url),
  })));
/** Flags and arguments, each with its verb. */
const asked = new Set<string>();
const SMALL = fileURLToPath(new URL('./e2e/fixtures/small', import.meta.url));
const ZOD = fileURLToPath(new URL('../../../playground/node_modules/zod', import.meta.url));
const LONG_MS = 240_000;

/** What a verb needs besides the flag that is wrong. Nothing is lost should it be let through. */
const basesOf = ({
  completed,
  session,
  approval,
  prompt,
  evalRun,
}: Awaited<ReturnType<typeof openSeeds>>): Record<string, Base> => ({
  init: { flags: { 'no-install': true } },
  // No port: what is right about the rest starts nothing that would stay.
  plane: { flags: { port: '0', yes: true } },
  'plane backup': { positionals: { file: 'plane.backup' } },
  'plane restore': { positionals: { file: 'svc.json' } },
  'plane reset-password': { positionals: { email: 'ada@example.com' } },
  link: { positionals: { installation: 'shop' }, flags: { url: 'https://box.example.com', 'image-tag': 'shop:1' } },
  ...forEach(['workflows schema', 'workflows start', 'workflows queue', 'workflows changes'], {
    positionals: { name: 'greet' },
  }),
  'workflows start-many': { positionals: { name: 'greet' }, flags: { from: '-' } },
  'workflows find': { positionals: { name: 'greet', id: 'none' } },
  'workflows dequeue': { positionals: { name: 'greet', triggerId: 'none' }, flags: { yes: true } },
  ...forEach(
    [
      'runs get',
      'runs steps',
      'runs state',
      'runs watch',
      'runs streams',
      'runs webhooks',
      'runs retry',
      'runs pause',
      'runs resume',
      'pull run',
    ],
    {
      positionals: { id: completed },
    },
  ),
  ...forEach(['runs cancel-all', 'runs retry-all', 'runs delete-all'], { flags: { name: 'none', yes: true } }),
  ...forEach(['runs fork', 'runs rewind'], {
    positionals: { id: completed },
    flags: { from: 'start', 'dry-run': true },
  }),
  ...forEach(['runs cancel', 'runs delete'], { positionals: { id: 'none' }, flags: { yes: true } }),
  'runs step': { positionals: { id: completed, stepId: '0' } },
  'runs stream': { positionals: { id: completed, name: 'default' } },
  'logs tail': { flags: { run: completed } },
  'sessions get': { positionals: { id: session } },
  ...forEach(['sessions delete', 'prompts delete', 'keys revoke'], {
    positionals: { id: 'none' },
    flags: { yes: true },
  }),
  ...forEach(['hitl get', 'hitl approve', 'hitl reject'], { positionals: { id: approval } }),
  'memory clear': { flags: { user: 'none', yes: true } },
  // An agent that answered would be one more session.
  chat: { positionals: { name: 'none', message: 'Hello.' } },
  ...forEach(['notify redeliver', 'keys rotate'], { positionals: { id: 'none' } }),
  'events send': { positionals: { name: 'none' }, flags: { payload: '{}' } },
  'hooks signal': { positionals: { token: 'none' } },
  ...forEach(['jobs pause', 'jobs resume', 'jobs run'], { positionals: { id: 'report:0' } }),
  'prompts create': {
    positionals: { key: 'tone' },
    flags: { 'owner-kind': 'agent', 'owner-name': 'support', name: 'Tone', text: 'Be brief.' },
  },
  'prompts update': { positionals: { id: prompt }, flags: { text: 'Be brief.' } },
  ...forEach(['prompts get', 'prompts versions', 'prompts publish', 'prompts rollback'], {
    positionals: { id: prompt },
  }),
  'guardrails create': {
    positionals: { name: 'words' },
    flags: { action: 'audit', sides: 'tool-result', check: '{"kind":"words","words":["casino"]}' },
  },
  ...forEach(['guardrails get', 'guardrails update'], { positionals: { id: 'none' } }),
  'guardrails delete': { positionals: { id: 'none' }, flags: { yes: true } },
  'guardrails order': { flags: { ids: 'none' } },
  'guardrails test': { flags: { text: 'To Ada.' } },
  // A suite that was launched would be one more run.
  eval: { positionals: { suite: 'none' } },
  ...forEach(['eval get', 'eval compare'], { positionals: { id: evalRun } }),
  'eval cancel': { positionals: { id: 'none' }, flags: { yes: true } },
  'storage get': { positionals: { key: 'notes.txt' } },
  'storage put': { positionals: { file: 'svc.json', key: 'none' }, flags: { overwrite: true } },
  'storage rm': { positionals: { key: 'none' }, flags: { yes: true } },
  'config get': { positionals: { key: 'limit' } },
  'config set': { positionals: { key: 'limit', value: '7' } },
  'config unset': { positionals: { key: 'none' }, flags: { yes: true } },
  'secrets set': { positionals: { name: 'SMTP_PASSWORD' } },
  ...forEach(['secrets rotate', 'secrets delete'], { positionals: { name: 'NONE' }, flags: { yes: true } }),
  'provider set': { positionals: { baseUrl: 'https://8.8.8.8/v1' } },
  'db query': { positionals: { sql: 'select 1' } },
  'rag add': { positionals: { name: 'none', id: 'one' }, flags: { text: 'A text.' } },
  'rag upload': { positionals: { name: 'none', file: 'svc.json' } },
  'rag search': { positionals: { name: 'none', query: 'text' } },
  'rag reindex': { positionals: { name: 'none' } },
  'rag rm': { positionals: { name: 'none', id: 'one' }, flags: { yes: true } },
  'provider delete': { flags: { yes: true } },
  'keys create': { flags: { name: 'ci', agents: 'all' } },
  'catalog update': { positionals: { kind: 'agent', name: 'support' }, flags: { 'requests-per-minute': '600' } },
  'keys update': { positionals: { id: 'none' }, flags: { 'requests-per-minute': '60' } },
  'usage get': { positionals: { kind: 'agent', id: 'support' } },
  'activity get': { positionals: { id: 'none' } },
  why: { positionals: { run: completed } },
  replay: { positionals: { run: 'run.json' } },
  complete: { positionals: { shell: 'bash' } },
  ...forEach(['add agent', 'add deep-agent', 'add workflow', 'add workflow-agent'], { positionals: { name: 'extra' } }),
});

/**
 * What looks wrong and is right: a filter that finds nothing, a name or a text like any other, a file to be made. Such a
 * command may fail for another reason, which its message names then.
 */
const TAKEN: readonly RegExp[] = [
  /^chat (message|--session), /,
  // Its message does not repeat what may be a secret.
  /^(secrets|provider) \S+ given, /,
  // Set by then.
  /^secrets (rotate|delete) name, (unknown|not a number)$/,
  /^secrets rotate --from-file, /,
  /^replay (run, a file|--(until|agent|url), )/,
  /^schema generate --(name|rename|drop|convert), /,
  /^sessions (get|delete) --agent-name, /,
  /^memory clear --(user|client|agent-name), /,
  // A folder to be made.
  /^plane --data-dir, (unknown|negative|huge|not a number|lines)$/,
  /^init (dir|--name), (unknown|huge|not a number|lines|a folder)$/,
  // Any text may be the name of a model.
  /^init --model, (unknown|negative|huge|not a number|traversal)$/,
  /^add \S+ name, (unknown|huge|a folder)$/,
  /^(build --out|package --out-dir|pull run --out), (unknown|negative|huge|not a number|lines)$/,
  /^package --(tag|base), (unknown|huge|a folder|a file|below a file)$/,
  /^(runs|logs|sessions|memory|hitl|jobs|notify|prompts|activity) list --(name|receiver|parent|retry-of|forked-from|session|step|text|agent-name|run|workflow|key|owner-name|operation|actor|target|client|user|has), (?!long)/,
  /^runs (cancel|retry|delete)-all --(name|parent|retry-of|forked-from|session|client|user), /,
  /^logs tail --(step|text|client|user), (?!long)/,
  /^upgrade --name, (?!long)/,
  // What has used nothing so far.
  /^usage (get id|list --id), /,
  // Any payload is one, under any id.
  /^events send (name|--payload|--idempotency-key), (?!long)/,
  // A hook that there is not yet.
  /^hooks (signal|kept) (--)?(token|payload|payload-file|start-file|idempotency-key), /,
  // Nothing has been written to it so far.
  /^runs stream name, /,
  /^runs stream --start-index, negative$/,
  /^runs get --wait, huge$/,
  /^(workflows start|runs retry|runs fork|runs rewind|hitl approve|hitl reject) --(idempotency-key|id|note|input|input-file), (?!long)/,
  // Any JSON is an input.
  /^runs (fork|rewind) --input, (negative|huge)$/,
  /^workflows start-many --idempotency-key, (?!long)/,
  // Its lines are looked at, and the first is named.
  /^workflows start-many --from, traversal$/,
  /^workflows start --priority, negative$/,
  // The start before has made it.
  /^workflows find id, /,
  /^prompts create (key|--name|--owner-name|--text|--file|--note), /,
  /^prompts update --(text|file|note), /,
  /^guardrails (create (name|--note)|update --(name|note)|hits --rule-id), (?!long)/,
  // The database names what it does not take.
  /^db query sql, /,
  // Any text is one to look for, or to add under any id.
  /^rag search query, (?!long)/,
  /^rag (add|rm) id, (?!long)/,
  // The collection is looked for first.
  /^rag reindex --model, (?!long)/,
  /^rag add --(text|title|file), /,
  /^rag upload (--id|--title), (?!long)/,
  /^rag upload file, (traversal|a file)$/,
  /^rag (add --metadata-file|search --filter-file), a file$/,
  /^guardrails test --(text|agent-name|workflow), /,
  // What is typed beside it wins.
  /^events send --payload-file, /,
  /^guardrails create --check-file, /,
  // Its JSON is no such value: the box names the member.
  /^guardrails (create|update|test) --(check|attachment|rule)-file, a file$/,
  // A prefix that nothing begins with, and any name for what is put or deleted.
  /^storage ls prefix, (?!long)/,
  /^storage (put|rm) key, (unknown|negative|huge|not a number|a file|lines)$/,
  /^storage put (file|--content-type), (traversal|a file)$/,
  /^storage put --content-type, (unknown|negative|huge|not a number)$/,
  /^storage get --out, (unknown|negative|huge|not a number|lines)$/,
  /^eval --(model|note|junit), /,
  /^(eval|jobs run) --idempotency-key, (?!long)/,
  /^config set value, huge$/,
  /^secrets set (name|--from-file), /,
  /^provider set --from-file, /,
  /^provider test --model, (?!long)/,
  /^catalog update --model, (?!long)/,
  /^keys update --(name|agents|workflows), (?!long)/,
  /^keys create --(name|agents|workflows|client), (?!long)/,
  /^link --image-tag, (unknown|huge)$/,
];

/** What the box has, without what changes by itself. */
const STATE = [
  'runs',
  'prompts',
  'config',
  'secrets',
  'keys',
  'approvals',
  'recurring-jobs',
  'sessions',
  'activity',
  'guardrails',
];

/** Verbs that change nothing when they succeed. */
const READS =
  /\b(?:list|get|test|hits|tail|steps|state|versions|queue|find|receivers|kept|watch|streams?|webhooks|tables|query|search)$/;

describe('what no one means', () => {
  it.each([...byGroup(listLeaves())])(
    'is refused by every flag and argument of svc %s, in one line, and changes nothing',
    async (_, leaves) => {
      const seeds = await openSeeds();
      const env = await signIn();
      const bases = basesOf(seeds);
      const found: string[] = [];
      for (const { path, leaf } of leaves) {
        let cwd = await makeWorkspace(seeds.url);
        let files = JSON.stringify(readTree(cwd));
        let state = await readState(seeds.url);
        for (const bad of await listBadCases(path, leaf, bases[path] ?? {})) {
          asked.add(`${path} ${bad.name}`);
          const result = await run(bad, { cwd, env });
          const isSound = TAKEN.some((known) => known.test(bad.title));
          if (isSound && result.exitCode === 0) {
            cwd = await makeWorkspace(seeds.url);
            files = JSON.stringify(readTree(cwd));
            if (!READS.test(path)) state = await readState(seeds.url);
            continue;
          }
          const changed = JSON.stringify(readTree(cwd));
          found.push(...listFaults(bad, result, isSound).map((fault) => `${bad.title}: ${fault}`));
          if (changed !== files) found.push(`${bad.title}: the folder has changed`);
          files = changed;
        }
        if ((await readState(seeds.url)) !== state) found.push(`${path}: the box has changed`);
      }
      expect(found).toEqual([]);
    },
    LONG_MS,
  );

  it('was tried with every flag and argument', () => {
    expect(asked.size).toBeGreaterThan(200);
  });
});

// --- internal ---

/** By the first word, in the order of the help. */
function byGroup(leaves: Leaves): Map<string, Leaves> {
  const groups = new Map<string, Leaves>();
  for (const one of leaves) {
    const [group = ''] = one.path.split(' ');
    groups.set(group, [...(groups.get(group) ?? []), one]);
  }
  return groups;
}

function forEach(paths: readonly string[], base: Base): Record<string, Base> {
  return Object.fromEntries(paths.map((path) => [path, base]));
}

async function signIn(): Promise<Record<string, string>> {
  const { env } = await startSignedIn();
  return { ...env, HMAC_SECRET: 's'.repeat(40) };
}

async function makeWorkspace(url: string): Promise<string> {
  const root = await makeProject(url);
  cpSync(SMALL, root, { recursive: true });
  mkdirSync(join(root, 'node_modules'));
  symlinkSync(ZOD, join(root, 'node_modules/zod'));
  return root;
}

async function run({ argv, path }: BadCase, options: { cwd: string; env: Record<string, string> }) {
  const stdin = /^(?:secrets|provider)/.test(path) ? 'a planted value' : path === 'workflows start-many' ? A_START : '';
  return runCli([...argv, '--json'], { ...options, stdin, signal: AbortSignal.timeout(STAYS_MS) });
}

const A_START = '{"input":{"name":"Ada"}}\n';

/** A command that stays where it should have ended. */
const STAYS_MS = 20_000;

async function readState(url: string): Promise<string> {
  const lists = STATE.map(async (room) => {
    const answer = await fetch(`${url}/api/${room}`);
    expect(answer.status).toBe(200);
    return answer.text();
  });
  return (await Promise.all(lists)).join('\n');
}

function listFaults(bad: BadCase, { exitCode, stdout, stderr }: CliResult, isSound: boolean): string[] {
  if (exitCode === 0) return ['it is taken'];
  const { error } = parseLine(stdout);
  if (!error) return [`stdout is no error document: ${stdout.slice(0, 200)}`];
  const { code, message, suggestion, details } = error;
  const said = [message, suggestion, JSON.stringify(details ?? {})].join(' ');
  const own = Object.hasOwn(CLI_CODES, code) ? CLI_CODES[code as keyof typeof CLI_CODES].exitCode : undefined;
  const wanted = own ?? (code.endsWith('_not_found') ? 4 : 1);
  const checks: [isFine: boolean, fault: string][] = [
    [exitCode === wanted, `${code} ends with ${exitCode}`],
    [/\w/.test(suggestion) && !/--verbose/.test(suggestion), `nothing to do is suggested: ${message}`],
    [stderr.trimEnd().split('\n').length === 1, `more than one line: ${stderr.slice(0, 200)}`],
    [message.length < 1_000 && stderr.length < 1_500, `${message.length} characters`],
    [!/\n\s+at |TypeError|\bE[A-Z]{4,}:/.test(`${message}\n${stderr}`), `the words of a program: ${message}`],
    // oxlint-disable-next-line no-control-regex
    [!/[\u0000-\u0009\u000B-\u001F]/.test(stderr), 'control characters reach the terminal'],
    // What is missing in the environment is said before the bundle is looked at.
    [
      isSound ||
        code === 'environment_invalid' ||
        bad.names.some((name) => said.includes(name)) ||
        said.includes(shortOf(bad.value)),
      `it is not named: ${said}`,
    ],
  ];
  return checks.flatMap(([isFine, fault]) => (isFine ? [] : [fault]));
}

interface ErrorDocument {
  error?: { code: string; message: string; suggestion: string; details?: object };
}

function parseLine(text: string): ErrorDocument {
  try {
    return JSON.parse(text) as ErrorDocument;
  } catch {
    return {};
  }
}
