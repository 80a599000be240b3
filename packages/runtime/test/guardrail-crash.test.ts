import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startModelServer } from '../../../playground/model-server.mjs';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { describeWhen, realServers } from './require.ts';
import { until } from './_setup.ts';
import type { ModelServer } from './_setup.ts';
import { forkWorker } from './_turn-worker.ts';
import type { Death, Worker } from './_turn-worker.ts';

/** What a rule holds, and what comes of it: each `n` is another conversation, or another start. */
interface Held {
  side: string;
  attachment: { kind: 'agent' | 'workflow'; name: string };
  word: string;
  begin(n: number): Promise<unknown>;
  /** The step that does what was decided. */
  step: string;
  /** Whether that step lets something be read before it is recorded. */
  emits: boolean;
  /** Calls of the model, and effects, before the decision; and in all, once it is approved or rejected. */
  before: Counts;
  approved: Counts;
  rejected: Counts;
  /** What is done once more where the process dies before the append that has both the approval and what is held. */
  again: Counts;
  /** What the turn has said. */
  says: { approved: string; rejected: string | undefined };
  /** What the model has read last, of a result that waits. */
  reads?: { approved: string; rejected: string };
}
type Counts = readonly [models: number, effects: number];

const ask = (n: number, content: string): Promise<string> => post('/wire-a/v1/chat/completions', n, content);
const HELD: Record<string, Held> = {
  'the input of a workflow': {
    side: 'workflow-input',
    attachment: { kind: 'workflow', name: 'book' },
    word: 'bookme',
    begin: (n) => send('POST', '/api/workflows/book/start', { n, note: 'bookme' }),
    step: 'book',
    emits: false,
    before: [0, 0],
    approved: [0, 1],
    rejected: [0, 0],
    again: [0, 0],
    says: { approved: '', rejected: undefined },
  },
  'what an agent is asked': {
    side: 'agent-input',
    attachment: { kind: 'agent', name: 'payer' },
    word: 'askme',
    begin: (n) => ask(n, 'say:Not askme.'),
    step: 'model',
    emits: false,
    before: [0, 0],
    approved: [1, 0],
    rejected: [0, 0],
    again: [0, 0],
    says: { approved: 'Not askme.', rejected: undefined },
  },
  'what an agent says': {
    side: 'agent-output',
    attachment: { kind: 'agent', name: 'payer' },
    word: 'saidit',
    begin: (n) => ask(n, 'say:It is saidit now.'),
    step: 'guardrail',
    emits: true,
    before: [1, 0],
    approved: [1, 0],
    rejected: [1, 0],
    again: [1, 0],
    says: { approved: 'It is saidit now.', rejected: 'It is ' },
  },
  'what a tool answers': {
    side: 'tool-result',
    attachment: { kind: 'agent', name: 'payer' },
    word: 'paid',
    begin: (n) => ask(n, `tool:pay {"n":${n}}; say:Done.`),
    step: 'pay',
    emits: true,
    before: [1, 1],
    approved: [2, 1],
    rejected: [2, 1],
    again: [0, 1],
    says: { approved: 'Done.', rejected: 'Done.' },
    reads: { approved: 'paid', rejected: 'The guardrail "hold paid" withholds this result.' },
  },
};

interface Phase {
  /** Armed before the text is held, or before it is decided. */
  when: 'asked' | 'decided';
  /** Undefined: the process is killed from outside. */
  death: ((held: Held) => Death) | undefined;
  decision: 'approve' | 'reject';
}
const PHASES: Record<string, Phase> = {
  'before its approval is recorded': {
    when: 'asked',
    death: () => ({ journal: 'append', has: 'hooks', nth: 1 }),
    decision: 'approve',
  },
  'while it waits, and is approved': { when: 'asked', death: undefined, decision: 'approve' },
  'behind the decision that approves it': {
    when: 'decided',
    death: () => ({ journal: 'resume', when: 'after', nth: 1 }),
    decision: 'approve',
  },
  'behind the decision that rejects it': {
    when: 'decided',
    death: () => ({ journal: 'resume', when: 'after', nth: 1 }),
    decision: 'reject',
  },
  'before it goes on': {
    when: 'decided',
    death: ({ step }) => ({ step, when: 'before', nth: 1 }),
    decision: 'approve',
  },
  'behind what it was let emit, before that is recorded': {
    when: 'decided',
    death: ({ step }) => ({ step, when: 'after', nth: 1 }),
    decision: 'approve',
  },
};
const cases = Object.entries(HELD).flatMap(([what, held]) =>
  Object.entries(PHASES)
    .filter(([name]) => held.emits || !name.startsWith('behind what'))
    .map(([when, phase]) => [`${what}, ${when}`, held, phase] as const),
);

let folder: string;
let model: ModelServer;
let worker: Worker;
let names = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-guardrail-crash-'));
  model = await startModelServer();
});
afterAll(async () => {
  await model.close();
  rmSync(folder, { recursive: true, force: true });
});

/** `next`: a process that goes on in place of the one that has died. */
function describeDeaths(next: () => Promise<Worker>): void {
  test.each(cases)('%s', async (_, held, { when, death, decision }) => {
    const n = ++names;
    const asked = model.requests.length;
    const known = await listPending();
    const pending = async () => (await listPending()).filter(({ runId }) => !known.some((one) => one.runId === runId));
    const isAgain = when === 'asked' && death !== undefined;
    const counts = (): Counts => [model.requests.length - asked, listEffects(n).length];
    const toTotal = ([models, effects]: Counts): Counts =>
      isAgain ? [models + held.again[0], effects + held.again[1]] : [models, effects];
    if (death && isAgain) {
      await dieOf(death(held), () => held.begin(n));
      worker = await next();
    } else {
      await held.begin(n);
      await until(async () => (await pending()).length === 1);
      if (when === 'asked') {
        await worker.kill();
        worker = await next();
      }
    }
    await until(async () => (await pending()).length === 1, 30_000);
    const [approval] = await pending();
    expect(counts()).toEqual(toTotal(held.before));
    const decide = () => send('POST', `/api/approvals/${approval?.approvalId}/decide`, { decision });
    if (when === 'decided' && death) {
      await dieOf(death(held), decide);
      worker = await next();
    } else await decide();
    const run = await untilEnded(approval?.runId ?? '');
    const isApproved = decision === 'approve';
    const said = isApproved ? held.says.approved : held.says.rejected;
    const error = { code: expect.stringMatching(/_guardrail_blocked$/) };
    expect(run).toMatchObject(said === undefined ? { status: 'failed', error } : { status: 'completed', error: null });
    expect(counts()).toEqual(toTotal(isApproved ? held.approved : held.rejected));
    expect(await pending()).toEqual([]);
    const read = isApproved ? held.reads?.approved : held.reads?.rejected;
    const last = model.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool');
    expect(read === undefined ? undefined : last?.content).toBe(read);
    // What is done again has the key it had.
    expect(new Set(listEffects(n)).size).toBeLessThanOrEqual(1);
    // A workflow says nothing.
    expect(await listSaid(n)).toEqual(said ? [said] : []);
  });
}

/** Each word is one rule's alone, so that a text waits once. */
async function addRules(): Promise<void> {
  for (const { side, attachment, word } of Object.values(HELD))
    await send('POST', '/api/guardrails', {
      name: `hold ${word}`,
      check: { kind: 'words', words: [word] },
      sides: [side],
      action: 'hold',
      attachment,
    });
}

describe('a process that is killed around a text that waits goes on in the next one', () => {
  const start = () => forkWorker({ folder, modelUrl: model.url });
  beforeAll(async () => {
    worker = await start();
    await addRules();
  });
  afterAll(() => worker.kill());
  describeDeaths(start);
});

describeWhen(realServers.database, 'the same of two replicas, on Postgres, goes on in the other', (server) => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let other: Worker;
  const start = () => forkWorker({ folder, modelUrl: model.url, database: database.url });
  beforeAll(async () => {
    database = await createDatabase(server);
    worker = await start();
    // It knows all of them from its beginning.
    await addRules();
    other = await start();
  });
  afterAll(async () => {
    await Promise.all([worker.kill(), other.kill()]);
    await database.drop();
  });
  describeDeaths(async () => {
    const alive = other;
    other = await start();
    return alive;
  });
});

// --- internal ---

async function send<T = object>(method: string, path: string, body?: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${worker.url}${path}`, {
    method,
    headers,
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return (await answer.json()) as T;
}

async function post(path: string, n: number, content: string): Promise<string> {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer dev', 'x-svc-session': `held ${n}` };
  const messages = [{ role: 'user', content }];
  const body = JSON.stringify({ model: 'payer', messages, stream: true });
  return (await fetch(`${worker.url}${path}`, { method: 'POST', headers, body })).text();
}

/** Resolves once the process has died of it. */
async function dieOf(death: Death, act: () => Promise<unknown>): Promise<void> {
  const gone = once(worker.child, 'exit');
  await worker.arm(death);
  await act().catch(() => {});
  expect(await gone).toEqual([null, 'SIGKILL']);
}

async function listPending(): Promise<{ approvalId: string; runId: string }[]> {
  type Page = { items: { approvalId: string; runId: string }[] };
  return (await send<Page>('GET', '/api/approvals?status=pending&source=guardrail')).items;
}

interface Run {
  status: string;
  endedAt: string | null;
  error: { code: string } | null;
}

async function untilEnded(runId: string): Promise<Run> {
  let run: Run | undefined;
  await until(async () => (run = await send<Run>('GET', `/api/runs/${runId}`)).endedAt !== null, 30_000);
  return run as Run;
}

function listEffects(n: number): string[] {
  const file = join(folder, 'paid.txt');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return lines.filter((line) => line.startsWith(`${n} `));
}

/** What the model has said in the session, as whoever reads it later has it. */
async function listSaid(n: number): Promise<string[]> {
  type Message = { role: string; content?: string };
  const path = `/api/sessions/${encodeURIComponent(`held ${n}`)}/messages?agent=payer`;
  const { items = [] } = await send<{ items?: { messages: Message[] }[] }>('GET', path);
  const said = items.flatMap(({ messages }) => messages.filter(({ role }) => role === 'assistant'));
  return said.flatMap(({ content }) => (content ? [content] : []));
}
