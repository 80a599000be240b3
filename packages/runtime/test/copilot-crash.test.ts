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

const start = (death?: Death): Promise<Worker> => forkWorker({ folder, modelUrl: model.url, database, death });
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

/** What the call is used up with, and its mark, and what writes down that it was made. */
const USED = 'insert into "svc"."used_once"';
const DONE = 'insert into "svc"."activity"';
const CANCEL = 'runs.cancel';
/** What it answered is not recorded. */
const AFTER = { step: 'call_write_operation', when: 'after', nth: 1 } as const;

describe('the process is killed between a confirmation and its call', () => {
  test('before the call has begun: nothing ran, and the person is asked once more', async () => {
    const { id, answer, thread } = await killOnceApproved({ step: 'confirm_operation', when: 'before', nth: 1 });
    expect([codeOf(answer), reasonOf(answer), await statusOf(id)]).toEqual([
      'confirmation_required',
      'unknown',
      'waiting',
    ]);
    await approve(thread);
    await until(async () => (await cancellationsOf(id)) > 0);
    expect([await statusOf(id), await cancellationsOf(id)]).toEqual(['cancelled', 1]);
  });

  test('before the call is made: it did not run, that is said, and the person is asked once more', async () => {
    const { id, answer, thread } = await killOnceApproved({ sql: USED, when: 'after', nth: 1 });
    expect([codeOf(answer), reasonOf(answer), await statusOf(id)]).toEqual([
      'confirmation_required',
      'not_begun',
      'waiting',
    ]);
    expect(answer.message).toMatch(/^The box was restarted before the call was made\. Nothing ran\./);
    await approve(thread);
    await until(async () => (await cancellationsOf(id)) > 0);
    expect([await statusOf(id), await cancellationsOf(id)]).toEqual(['cancelled', 1]);
  });

  test('as the call is made: it did not run, and that is said', async () => {
    const { id, answer } = await killOnceApproved({ sql: USED, param: 'ran', when: 'before', nth: 1 });
    expect([reasonOf(answer), await statusOf(id)]).toEqual(['not_begun', 'waiting']);
  });

  test('behind its mark, before its effect: that nothing came of it is seen, and said', async () => {
    const { id, answer } = await killOnceApproved({ sql: USED, param: 'ran', when: 'after', nth: 1 });
    expect([reasonOf(answer), await statusOf(id)]).toEqual(['not_begun', 'waiting']);
  });

  test('behind its effect: it ran once, that is said, and it is not made again', async () => {
    const { id, answer } = await killOnceApproved({ sql: DONE, param: CANCEL, when: 'before', nth: 1 });
    expect([answer, await statusOf(id)]).toMatchObject([{ ran: true }, 'cancelled']);
    expect(await cancellationsOf(id)).toBe(0);
  });

  test('before what it answered is recorded: it ran once, and its answer is kept', async () => {
    const { id, answer } = await killOnceApproved({ step: 'confirm_operation', when: 'after', nth: 1 });
    expect([answer, await statusOf(id), await cancellationsOf(id)]).toMatchObject([
      { ran: true, answer: { runId: id } },
      'cancelled',
      1,
    ]);
  });

  test.each([
    ['before its effect', 'before', { code: 'confirmation_required', details: { reason: 'not_begun' } }, 1],
    ['behind its effect', 'after', { ran: true }, 0],
  ] as const)('and what it deletes lies in the database: %s', async (_, when, expected, left) => {
    const prompt = { ownerKind: 'workspace', key: `to-go-${when}`, name: 'To go', text: 'Hello.' };
    const { id } = await send('POST', '/api/prompts', prompt);
    const thread = `prompt ${when}`;
    const answer = answerOf(write('prompts.delete', { id }), confirm);
    const told = await talk(box, thread, { text: 'Delete it.' });
    const death =
      when === 'before'
        ? ({ sql: 'delete from "svc"."prompts"', when: 'after', nth: 1 } as const)
        : ({ sql: DONE, param: 'prompts.delete', when: 'before', nth: 1 } as const);
    await killAt(death, () => decide(box, thread, told, { decision: 'approve' }));
    worker = await start();
    expect(await answer()).toMatchObject(expected);
    expect(await promptsOf(prompt.key)).toHaveLength(left);
  });
});

describe('the process is killed in a call for many runs', () => {
  test.each([
    [
      'none of which it has reached: it did not run',
      1,
      { code: 'confirmation_required', details: { reason: 'not_begun' } },
    ],
    [
      'one of which it has reached: how many it is said, and the others are left alone',
      2,
      { ran: 'in part', done: 1, of: 3 },
    ],
  ] as const)('%s', async (_, nth, expected) => {
    const { ids, from } = await startThree();
    const answer = await killConfirmed('runs.cancel_all', { name: 'rest', from }, { journal: 'cancel', nth });
    expect(answer).toMatchObject(expected);
    const statuses = await Promise.all(ids.map(statusOf));
    expect(statuses.filter((status) => status === 'cancelled')).toHaveLength(nth - 1);
  });

  test('that it restarts: how many it is said, and none is started twice', async () => {
    const { ids, from } = await startThree();
    await send('POST', '/api/runs/cancel', { name: 'rest', from });
    const filter = { name: 'rest', status: 'cancelled', from, to: new Date().toISOString() };
    const answer = await killConfirmed('runs.retry_all', filter, { journal: 'create', nth: 3 });
    expect(answer).toMatchObject({ ran: 'in part', done: 2, of: 3 });
    expect((await retriesOf(ids)).toSorted()).toEqual([0, 1, 1]);
  });

  test('that it deletes, behind its effect: it ran', async () => {
    const { ids, from } = await startThree();
    await send('POST', '/api/runs/cancel', { name: 'rest', from });
    const death = { sql: DONE, param: 'runs.delete_all', when: 'before', nth: 1 } as const;
    const answer = await killConfirmed('runs.delete_all', { name: 'rest', from }, death);
    expect([answer, await Promise.all(ids.map(statusOf))]).toMatchObject([
      { ran: true },
      [undefined, undefined, undefined],
    ]);
  });
});

describe('a write that needs no confirmation is killed', () => {
  const toPrompt = (key: string) => ({ ownerKind: 'workspace', key, name: 'Greeting', text: 'Hello.' });

  test('before its change is committed: it did not run, which has a code of its own', async () => {
    const answer = await killWrite(write('prompts.create', toPrompt('one')), {
      sql: 'insert into "svc"."prompts"',
      when: 'after',
      nth: 1,
    });
    expect(answer).toMatchObject({
      code: 'call_interrupted',
      details: { operation: 'prompts.create', ran: false },
      message: expect.stringContaining('It did not run: call it again.'),
    });
    expect(await promptsOf('one')).toEqual([]);
  });

  test('once it is committed: it ran once, and that is said', async () => {
    const answer = await killWrite(write('prompts.create', toPrompt('two')), {
      sql: DONE,
      param: 'prompts.create',
      when: 'before',
      nth: 1,
    });
    expect(answer).toMatchObject({ ran: true });
    expect(await promptsOf('two')).toHaveLength(1);
  });

  test('before what it answered is recorded: the answer is kept', async () => {
    const answer = await killWrite(write('prompts.create', toPrompt('three')), AFTER);
    const made = await promptsOf('three');
    expect(answer).toMatchObject({ ran: true, answer: { id: made[0]?.id } });
    expect(made).toHaveLength(1);
  });

  test('of which the log keeps nothing, a start: it is the one run, which is reported', async () => {
    const from = (await runsOf('rest')).map(({ runId }) => runId);
    const answer = await killWrite(write('workflows.start', { name: 'rest', input: {} }), AFTER);
    const begun = (await runsOf('rest')).filter(({ runId }) => !from.includes(runId));
    expect([answer, begun.length]).toMatchObject([{ ran: true, answer: { runId: begun[0]?.runId } }, 1]);
  });

  test('that fires a timer: it fires once, and is noted once', async () => {
    const death = { sql: DONE, param: 'jobs.run', when: 'before', nth: 1 } as const;
    const answer = await killWrite(write('jobs.run', { id: 'timed:0' }), death);
    const { firings } = await send<{ firings: Json[] }>('GET', '/api/recurring-jobs/timed:0');
    const runs = await runsOf('timed');
    expect([answer, firings.length, runs.length]).toMatchObject([{ ran: true, answer: { id: 'timed:0' } }, 1, 1]);
    expect(firings[0]?.runId).toBe(runs[0]?.runId);
  });

  test.each([
    ['before it is put back: it did not run', { journal: 'redeliver', nth: 1 }, { code: 'call_interrupted' }, false],
    [
      'once it is put back: it ran',
      { sql: DONE, param: 'notify.redeliver', when: 'before', nth: 1 },
      { ran: true },
      true,
    ],
  ] as const)('that sends a message once more, %s', async (_, death, expected, isSent) => {
    await send('POST', '/api/workflows/broken/start', {});
    const delivered = () => itemsOf('/api/notify/deliveries?state=delivered');
    const known = (await delivered()).length;
    await until(async () => (await delivered()).length > known);
    const [{ deliveryId: id, lastAt } = {}] = await delivered();
    expect(await killWrite(write('notify.redeliver', { id }), death)).toMatchObject(expected);
    await until(async () => (await itemsOf('/api/notify/deliveries?state=pending')).length === 0);
    expect((await delivered())[0]?.lastAt !== lastAt).toBe(isSent);
  });
});

test('who is killed while saying that a call did not run says it again', async () => {
  const thread = `t${++threads}`;
  const prompt = { ownerKind: 'workspace', key: 'twice', name: 'Greeting', text: 'Hello.' };
  const answer = answerOf(write('prompts.create', prompt));
  const death = { sql: 'insert into "svc"."prompts"', when: 'after', nth: 1 } as const;
  await killAt(death, () => talk(box, thread, { text: 'Do it.' }));
  const dying = await start({ sql: USED, param: 'looked for', when: 'after', nth: 1 }).catch(() => undefined);
  if (dying && dying.child.signalCode === null) await once(dying.child, 'exit');
  worker = await start();
  expect(await answer()).toMatchObject({ code: 'call_interrupted', details: { ran: false } });
  expect(await promptsOf('twice')).toEqual([]);
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

  test('the other does not make the call, says that it did not run, and asks once more', async () => {
    const { id, answer, thread } = await killOnceApproved({ sql: USED, when: 'after', nth: 1 }, async () => other);
    expect([reasonOf(answer), await statusOf(id)]).toEqual(['not_begun', 'waiting']);
    await approve(thread);
    await until(async () => (await cancellationsOf(id)) > 0);
    expect([await statusOf(id), await cancellationsOf(id)]).toEqual(['cancelled', 1]);
  });

  test('the other says that a call ran that had its effect', async () => {
    worker = await start();
    const { id, answer } = await killOnceApproved(
      { sql: DONE, param: CANCEL, when: 'before', nth: 1 },
      async () => other,
    );
    expect([answer, await statusOf(id), await cancellationsOf(id)]).toMatchObject([{ ran: true }, 'cancelled', 0]);
  });

  test('the other tells a change that was committed from one that was not', async () => {
    for (const [key, death, expected] of [
      ['lost', { sql: 'insert into "svc"."prompts"', when: 'after', nth: 1 }, { code: 'call_interrupted' }],
      ['kept', { sql: DONE, param: 'prompts.create', when: 'before', nth: 1 }, { ran: true }],
    ] as const) {
      worker = await start();
      const prompt = { ownerKind: 'workspace', key, name: 'Greeting', text: 'Hello.' };
      expect(await killWrite(write('prompts.create', prompt), death, async () => other)).toMatchObject(expected);
      expect(await promptsOf(key)).toHaveLength('ran' in expected ? 1 : 0);
    }
  });
});

// --- internal ---

let threads = 0;

/** A turn whose process is killed once the person has approved; what the next process tells the model. */
async function killOnceApproved(
  death: Death,
  next = () => start(),
): Promise<{ id: string; thread: string; answer: Json }> {
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

/** Three runs that wait, and the time from which there are these alone. */
async function startThree(): Promise<{ ids: string[]; from: string }> {
  const from = new Date().toISOString();
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) ids.push(String((await send('POST', '/api/workflows/rest/start', {})).runId));
  await until(async () => (await Promise.all(ids.map(statusOf))).every((status) => status === 'waiting'));
  return { ids, from };
}

/** A marked write whose process is killed once the person has approved. */
async function killConfirmed(operation: string, input: Json, death: Death): Promise<Json> {
  const thread = `t${++threads}`;
  const answer = answerOf(write(operation, input), confirm);
  const told = await talk(box, thread, { text: 'Do it.' });
  await killAt(death, () => decide(box, thread, told, { decision: 'approve' }));
  worker = await start();
  return answer();
}

/** A turn whose process is killed at a write that needs no confirmation; what the next tells the model. */
async function killWrite(made: ReturnType<typeof write>, death: Death, next = () => start()): Promise<Json> {
  const answer = answerOf(made);
  await killAt(death, () => talk(box, `t${++threads}`, { text: 'Do it.' }));
  worker = await next();
  return answer();
}

/** Says yes to what a turn waits for. */
async function approve(thread: string): Promise<void> {
  const read = () => send('GET', `/api/sessions/${thread}?agent=studio-copilot`);
  await until(async () => (await read()).pendingApproval !== null);
  const { approvalId } = (await read()).pendingApproval as Json;
  await send('POST', `/api/approvals/${String(approvalId)}/decide`, { decision: 'approve' });
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

const itemsOf = async (path: string) => (await send<{ items: Json[] }>('GET', path)).items;
const promptsOf = (key: string) => itemsOf(`/api/prompts?key=${key}`);
const runsOf = (name: string) => itemsOf(`/api/runs?name=${name}`);
const retriesOf = (ids: string[]) =>
  Promise.all(ids.map(async (id) => (await itemsOf(`/api/runs?retryOf=${id}`)).length));
const statusOf = async (id: string) => (await send('GET', `/api/runs/${id}`)).status;

/** How often that is in the activity log. */
async function cancellationsOf(id: string): Promise<number> {
  return (await itemsOf(`/api/activity?operation=${CANCEL}&target=${id}`)).length;
}
