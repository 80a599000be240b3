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

const folder = mkdtempSync(join(tmpdir(), 'svc-turn-crash-'));
const PAID = join(folder, 'paid.txt');
let model: ModelServer;
let worker: Worker;

beforeAll(async () => {
  model = await startModelServer();
  worker = await startWorker();
});
afterAll(async () => {
  await worker?.kill();
  await model.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Where the process dies, and how often the tool has run once the turn is over. */
const PHASES = {
  'before the first model call': { death: { step: 'model', when: 'before', nth: 1 }, paid: 1 },
  'while the provider streams': { death: 'stream', paid: 1 },
  'while a tool runs': { death: { step: 'pay', when: 'during', nth: 1 }, paid: 2 },
  'between a tool and the next model call': { death: { step: 'model', when: 'before', nth: 2 }, paid: 1 },
  'before the session is saved': { death: { step: 'session', when: 'before', nth: 1 }, paid: 1 },
  'between the save of the session and its record': { death: { step: 'session', when: 'after', nth: 1 }, paid: 1 },
} as const;
const phases = Object.entries(PHASES);

describe('a turn whose process is killed', () => {
  test.each(phases.map(([name, phase], n) => [name, { ...phase, n }] as const))(
    '%s goes on in the next one: recorded tools are not run again, the session answers',
    async (name, { death, paid, n }) => {
      const words = death === 'stream' ? 'delay:40; chunks:60' : 'say:done';
      await killIn(death, () => ask(n, `tool:pay {"n":${n}}; ${words}`, name));
      worker = await startWorker();
      const run = await untilEnded();
      expect(run).toMatchObject({ status: 'completed', sessionId: expect.any(String) });
      expect(listPaid(n)).toHaveLength(paid);
      expect(new Set(listPaid(n)).size).toBe(1);

      expect(await (await ask(n, 'say:after', name)).text()).toContain('"after"');
      const { messages } = model.requests.at(-1) ?? { messages: [] };
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    },
    60_000,
  );

  test.each([
    ['while a tool runs', { step: 'pay', when: 'during', nth: 1 }, 1],
    ['before a model call', { step: 'model', when: 'before', nth: 1 }, 0],
  ] as const)(
    '%s ends as cancelled when no one can read it any more: it has no session',
    async (_, death, paid) => {
      const n = 100 + paid;
      await killIn(death, () => ask(n, `tool:pay {"n":${n}}; say:done`));
      worker = await startWorker();
      expect(await untilEnded()).toMatchObject({ status: 'cancelled', error: { code: 'client_gone' } });
      expect(listPaid(n)).toHaveLength(paid);
    },
    60_000,
  );
});

describe('a turn whose sub-agent waits for a person', () => {
  test('goes on from where it was, killed while it waits and while it does what was decided', async () => {
    const task = { subagent_type: 'clerk', description: 'tool:pay {"n":300}\nsay:Paid.' };
    const script = `tool:task ${JSON.stringify(task)}\nsay:done`;
    const received = await (await ask(300, script, 'below', 'lead')).text();
    expect(received).toContain('Waiting for a decision: Run \\"pay\\"?');
    await worker.kill();
    worker = await startWorker();
    const refused = await ask(300, 'say:no', 'below', 'lead');
    expect([refused.status, await refused.json()]).toMatchObject([409, { error: { code: 'approval_pending' } }]);
    const { items } = await read<{ items: { approvalId: string }[] }>('/api/approvals?status=pending');
    expect(items).toHaveLength(1);
    await killIn({ step: 'pay', when: 'during', nth: 1 }, () =>
      fetch(`${worker.url}/api/approvals/${items[0]?.approvalId}/decide`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ decision: 'approve' }),
      }),
    );
    worker = await startWorker();
    expect(await untilEnded('?name=lead&limit=1')).toMatchObject({ status: 'completed', output: { content: 'done' } });
    expect(listPaid(300)).toHaveLength(2);
    expect(new Set(listPaid(300)).size).toBe(1);
    expect(await (await ask(300, 'say:after', 'below', 'lead')).text()).toContain('"after"');
  }, 60_000);
});

describeWhen(realServers.database, 'a turn whose replica is killed, on Postgres', (server) => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let other: Worker;
  let alone: Worker;

  beforeAll(async () => {
    database = await createDatabase(server);
    alone = worker;
    [worker, other] = [await startWorker(database.url), await startWorker(database.url)];
  });
  afterAll(async () => {
    await Promise.all([worker?.kill(), other?.kill()]);
    worker = alone;
    await database?.drop();
  });

  test.each(phases.map(([name, phase], n) => [name, { ...phase, n: 200 + n }] as const))(
    '%s goes on in the other: recorded tools are not run again, the session is saved once',
    async (name, { death, paid, n }) => {
      const words = death === 'stream' ? 'delay:40; chunks:60' : 'say:done';
      await killIn(death, () => ask(n, `tool:pay {"n":${n}}; ${words}`, name));
      [worker, other] = [other, worker];
      // The other may have ended the turn by now: then this is one more.
      const early = await ask(n, 'say:too soon', name);
      expect([200, 409]).toContain(early.status);
      await early.text();
      const between = early.status === 200 ? 1 : 0;
      expect(await untilEnded(`?limit=${1 + between}`)).toMatchObject({
        status: 'completed',
        sessionId: expect.any(String),
      });
      expect(listPaid(n)).toHaveLength(paid);
      expect(new Set(listPaid(n)).size).toBe(1);
      expect(await (await ask(n, 'say:after', name)).text()).toContain('"after"');
      const session = `/api/sessions/${encodeURIComponent(`${n} ${name}`)}`;
      expect(await read(`${session}?agent=payer`)).toMatchObject({ turns: 2 + between, openTurn: null });
      const { items } = await read<{ items: { messages: { role: string }[] }[] }>(`${session}/messages?agent=payer`);
      expect(items.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
        ['user', 'assistant', 'tool', 'assistant'],
        ...Array.from({ length: 1 + between }, () => ['user', 'assistant']),
      ]);
      other = await startWorker(database.url);
    },
    60_000,
  );
});

// --- internal ---

async function read<T = object>(path: string): Promise<T> {
  return (await (await fetch(`${worker.url}${path}`)).json()) as T;
}

const startWorker = (database?: string): Promise<Worker> => forkWorker({ folder, modelUrl: model.url, database });

function ask(n: number, content: string, session?: string, agent = 'payer'): Promise<Response> {
  return fetch(`${worker.url}/wire-a/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: 'Bearer dev',
      ...(session === undefined ? {} : { 'x-svc-session': `${n} ${session}` }),
    },
    body: JSON.stringify({ model: agent, messages: [{ role: 'user', content }], stream: true }),
  });
}

type Dying = Death | 'stream';

/** Asks, and answers once the process has died of it. */
async function killIn(death: Dying, turn: () => Promise<Response>): Promise<void> {
  expect(worker.child.connected).toBe(true);
  const gone = once(worker.child, 'exit');
  if (death !== 'stream') {
    await worker.arm(death);
    await turn()
      .then((answer) => answer.text())
      .catch(() => '');
  } else {
    for await (const part of (await turn()).body ?? []) if (Buffer.from(part).includes('"content":"3 "')) break;
    worker.child.kill('SIGKILL');
  }
  expect(await gone).toEqual([null, 'SIGKILL']);
}

interface Run {
  status: string;
  sessionId: string | null;
  endedAt: string | null;
  error: { code: string } | null;
  output: unknown;
}

/** The oldest of the newest runs, once it has ended. */
async function untilEnded(query = '?limit=1'): Promise<Run> {
  let run: Run | undefined;
  await until(async () => {
    const answer = await fetch(`${worker.url}/api/runs${query}`);
    run = ((await answer.json()) as { items: Run[] }).items.at(-1);
    return run !== undefined && run.endedAt !== null;
  }, 30_000);
  return run as Run;
}

/** The keys of the payments that were made. */
function listPaid(n: number): string[] {
  const lines = existsSync(PAID) ? readFileSync(PAID, 'utf8').split('\n') : [];
  return lines.flatMap((line) => (line.startsWith(`${n} `) ? line.slice(`${n} `.length) : []));
}
