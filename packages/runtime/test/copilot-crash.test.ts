import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { codeOf, confirm, decide, inTurn, reasonOf, startPlayedModel, talk, write } from './_copilot.ts';
import type { PlayedModel, TalkedTo } from './_copilot.ts';
import { describeWhen, realServers } from './require.ts';
import { until } from './_setup.ts';
import { forkWorker } from './_turn-worker.ts';
import type { Death, Worker } from './_turn-worker.ts';

type Json = Record<string, unknown>;

const folder = mkdtempSync(join(tmpdir(), 'svc-copilot-crash-'));
let model: PlayedModel;
let worker: Worker;
let database: string | undefined;

const start = (): Promise<Worker> => forkWorker({ folder, modelUrl: model.url, database });
/** The box of the process there is. */
const box: TalkedTo = { request: async (path, init) => fetch(`${worker.url}${path}`, init) };
const send = async <T = Json>(method: string, path: string, body?: unknown): Promise<T> => {
  const headers = { 'content-type': 'application/json' };
  const answer = await box.request(path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await answer.json()) as T;
};

beforeAll(async () => {
  model = await startPlayedModel();
  worker = await start();
  await send('PUT', '/api/settings/copilot', { enabled: true });
});
afterAll(async () => {
  await worker?.kill();
  await model.close();
  rmSync(folder, { recursive: true, force: true });
});

/** What uses the call up, and what writes down that it was made. */
const KEY = 'insert into "svc"."used_once"';
const DONE = 'insert into "svc"."activity"';
const CANCEL = 'runs.cancel';

describe('the process is killed between a confirmation and its call', () => {
  test('before the call has begun: nothing ran, and the person is asked once more', async () => {
    const { id, answer, thread } = await killOnceApproved({ step: 'confirm_operation', when: 'before', nth: 1 });
    expect([codeOf(answer), reasonOf(answer), await statusOf(id)]).toEqual([
      'confirmation_required',
      'unknown',
      'waiting',
    ]);
    const { pendingApproval } = await send(`GET`, `/api/sessions/${thread}?agent=studio-copilot`);
    await send('POST', `/api/approvals/${String((pendingApproval as Json).approvalId)}/decide`, {
      decision: 'approve',
    });
    await until(async () => (await statusOf(id)) === 'cancelled');
    expect(await cancellationsOf(id)).toBe(1);
  });

  test('before the call is made: it did not run, is not made, and that is not claimed to be known', async () => {
    const { id, answer } = await killOnceApproved({ sql: KEY, when: 'after', nth: 1 });
    expect([codeOf(answer), reasonOf(answer), await statusOf(id)]).toEqual([
      'confirmation_required',
      'interrupted',
      'waiting',
    ]);
    expect(await cancellationsOf(id)).toBe(0);
  });

  test('while the call is made: it ran once, is not made again, and that is not claimed to be known', async () => {
    const { id, answer } = await killOnceApproved({ sql: DONE, param: CANCEL, when: 'before', nth: 1 });
    expect([codeOf(answer), reasonOf(answer), await statusOf(id)]).toEqual([
      'confirmation_required',
      'interrupted',
      'cancelled',
    ]);
    expect(await cancellationsOf(id)).toBe(0);
  });

  test('before what it answered is recorded: it ran once, and that is said', async () => {
    const { id, answer } = await killOnceApproved({ step: 'confirm_operation', when: 'after', nth: 1 });
    expect([answer, await statusOf(id), await cancellationsOf(id)]).toMatchObject([{ ran: true }, 'cancelled', 1]);
  });
});

test('a write that needs no confirmation is killed before what it answered is recorded: it ran once, and that is said', async () => {
  const prompt = { ownerKind: 'workspace', key: 'greeting', name: 'Greeting', text: 'Hello.' };
  const answer = answerOf(write('prompts.create', prompt));
  const death = { step: 'call_write_operation', when: 'after', nth: 1 } as const;
  await killAt(death, () => talk(box, 'unmarked', { text: 'Make a prompt.' }));
  worker = await start();
  expect(await answer()).toMatchObject({ ran: true });
  const { items } = await send<{ items: unknown[] }>('GET', '/api/prompts?key=greeting');
  expect(items).toHaveLength(1);
});

describeWhen(realServers.database, 'a replica is killed between a confirmation and its call, on Postgres', (server) => {
  let made: Awaited<ReturnType<typeof createDatabase>>;
  let alone: Worker;
  let other: Worker;
  beforeAll(async () => {
    made = await createDatabase(server);
    alone = worker;
    database = made.url;
    other = await start();
    worker = other;
    await send('PUT', '/api/settings/copilot', { enabled: true });
    // The one that boots later reads that at its boot.
    worker = await start();
  });
  afterAll(async () => {
    await Promise.all([worker?.kill(), other?.kill()]);
    worker = alone;
    await made?.drop();
  });

  test('the other does not make the call, and says that it may have run', async () => {
    const { id, answer } = await killOnceApproved({ sql: KEY, when: 'after', nth: 1 }, async () => other);
    expect([answer, await statusOf(id), await cancellationsOf(id)]).toMatchObject([
      { details: { reason: 'interrupted' } },
      'waiting',
      0,
    ]);
  });
});

// --- internal ---

let threads = 0;

/** A turn whose process is killed once the person has approved; what the next process tells the model. */
async function killOnceApproved(death: Death, next = start): Promise<{ id: string; thread: string; answer: Json }> {
  const thread = `t${++threads}`;
  const { runId } = await send('POST', '/api/workflows/rest/start', {});
  const id = String(runId);
  await until(async () => (await statusOf(id)) === 'waiting');
  const answer = answerOf(write(CANCEL, { id }), confirm);
  const told = await talk(box, thread, { text: 'Cancel it.' });
  expect(told.interrupts).toHaveLength(1);
  await killAt(death, () => decide(box, thread, told, { decision: 'approve' }));
  worker = await next();
  return { id, thread, answer: await answer() };
}

async function killAt(death: Death, act: () => Promise<unknown>): Promise<void> {
  await worker.arm(death);
  const gone = once(worker.child, 'exit');
  await act().catch(() => undefined);
  expect(await gone).toEqual([null, 'SIGKILL']);
}

/** Plays these, and asks again where that is wanted; resolves with the answer to the last of them. */
function answerOf(...plays: Parameters<typeof inTurn>): () => Promise<Json> {
  let answer: Json | undefined;
  model.play = inTurn(...plays, (last) => {
    answer = last;
    return last.requestState === undefined ? 'Over.' : confirm(last);
  });
  return async () => {
    await until(() => answer !== undefined, 30_000);
    return answer as Json;
  };
}

const statusOf = async (id: string) => (await send('GET', `/api/runs/${id}`)).status;

/** How often that is in the activity log. */
async function cancellationsOf(id: string): Promise<number> {
  const { items } = await send<{ items: unknown[] }>('GET', `/api/activity?operation=${CANCEL}&target=${id}`);
  return items.length;
}
