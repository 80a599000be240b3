import { describe, expect, test } from 'vitest';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import type { ApprovalRequest } from '../src/engine/primitives/approval.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { call, finish, getRun, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

interface Approval extends Record<string, unknown> {
  approvalId: string;
  runId: string;
  status: string;
  title: string;
}

const ask = async (request: Partial<ApprovalRequest> = {}) =>
  requestApproval({ title: 'Ship it?', payload: { order: 'A-1' }, ...request });
const WORKFLOWS = {
  ask: { run: ask },
  both: { run: async () => Promise.all([ask({ title: 'First?' }), ask({ title: 'Second?' })]) },
  hook: { run: async () => createHook({ token: 'a-hook' }) },
};

const open = () => boxes.open({ workflows: WORKFLOWS });
const list = async (box: TestBox, query = '') =>
  (await call<{ items: Approval[] }>(box, `GET /api/approvals${query}`)).body.items;
const get = async (box: TestBox, id: string) => (await call<Approval>(box, `GET /api/approvals/${id}`)).body;
const decide = (box: TestBox, id: string, body: unknown) => call(box, `POST /api/approvals/${id}/decide`, body);

/** Starts a run and answers its approval once it is asked. */
async function askOne(box: TestBox, input: Partial<ApprovalRequest> = {}): Promise<Approval> {
  const runId = await startWorkflow(box, 'ask', input);
  const own = async () => (await list(box)).find((approval) => approval.runId === runId);
  await until(async () => (await own()) !== undefined);
  return (await own()) as Approval;
}

describe('an approval', () => {
  const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);

  test('is listed as pending with all a person needs, and its run waits for it', async () => {
    const box = await open();
    const approval = await askOne(box, { timeout: '1 hour' });
    expect(approval).toEqual({
      approvalId: expect.stringMatching(/^[\w-]{43}$/),
      source: 'workflow',
      runId: expect.any(String),
      sessionId: null,
      title: 'Ship it?',
      payload: { order: 'A-1' },
      status: 'pending',
      decision: null,
      note: null,
      decidedBy: null,
      allow: null,
      by: 'operator',
      approvers: null,
      argsDigest: null,
      description: null,
      createdAt: TIME,
      expiresAt: TIME,
      audit: [{ at: TIME, action: 'asked', by: null }],
      cut: [],
    });
    expect(Date.parse(String(approval.expiresAt)) - Date.parse(String(approval.createdAt))).toBeGreaterThan(3_590_000);
    await untilStatus(box, approval.runId, 'waiting');
    expect(await getRun(box, approval.runId, '20ms')).toMatchObject({
      status: 'waiting',
      waitingFor: { type: 'approval', title: 'Ship it?', until: approval.expiresAt },
    });
  });

  test('takes the input that its workflow has given a schema for, and no other', async () => {
    const box = await open();
    const inputSchema = {
      type: 'object',
      properties: { amount: { type: 'number', maximum: 100 } },
      required: ['amount'],
    };
    const { approvalId, runId } = await askOne(box, { inputSchema });
    expect(await get(box, approvalId)).toMatchObject({ inputSchema, input: null });
    expect(await decide(box, approvalId, { decision: 'approve', input: { amount: 500 } })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', details: { issues: [{ path: ['amount'], message: expect.any(String) }] } },
    });
    expect(await decide(box, approvalId, { decision: 'approve', input: { amount: 4 } })).toMatchObject({ status: 200 });
    expect(await finish(box, runId)).toMatchObject({ output: { approved: true, input: { amount: 4 } } });
    expect(await get(box, approvalId)).toMatchObject({ inputSchema, input: { amount: 4 } });
    const plain = await askOne(box, { title: 'Plain?' });
    expect(await get(box, plain.approvalId)).toMatchObject({ inputSchema: null, input: null });
    const wrong = await finish(box, await startWorkflow(box, 'ask', { inputSchema: 'text' }));
    expect(wrong).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('JSON Schema') } });
  });

  test.each([
    ['approve', { note: 'Fine.', input: { amount: 5 } }, 'approved'],
    ['reject', { note: 'No.' }, 'rejected'],
    ['approve', {}, 'approved'],
  ])('decided with %s and %j tells the run what was said and by whom', async (decision, said, status) => {
    const box = await open();
    const { approvalId, runId } = await askOne(box);
    const { note = null, input = null } = said as { note?: string; input?: unknown };
    const answer = await decide(box, approvalId, { decision, ...said });
    expect(answer).toMatchObject({ status: 200, body: { approvalId, status, decision, note, decidedBy: 'owner' } });
    expect((await finish(box, runId)).output).toEqual({
      approved: decision === 'approve',
      decision,
      by: 'owner',
      note,
      input,
      timedOut: false,
    });
    expect(await get(box, approvalId)).toMatchObject({
      status,
      audit: [{ action: 'asked' }, { action: decision, by: 'owner', at: TIME }],
    });
  });

  test('is decided once: a second decision is 409 with the first, also after the run has ended', async () => {
    const box = await open();
    const { approvalId, runId } = await askOne(box);
    await decide(box, approvalId, { decision: 'approve', note: 'first' });
    const refused = {
      status: 409,
      body: {
        code: 'already_decided',
        details: { decision: 'approve', decidedBy: 'owner', note: 'first', status: 'approved' },
      },
    };
    expect(await decide(box, approvalId, { decision: 'reject' })).toMatchObject(refused);
    await finish(box, runId);
    expect(await decide(box, approvalId, { decision: 'reject' })).toMatchObject(refused);
    const resume = await call(box, `POST /api/workflows/hooks/${approvalId}/resume`, { decision: 'reject' });
    expect(resume).toMatchObject(refused);
  });

  test('decided by 20 clients at once is decided by one, and its answer is what the run gets', async () => {
    const box = await open();
    const { approvalId, runId } = await askOne(box);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        decide(box, approvalId, { decision: n % 2 ? 'approve' : 'reject', note: `client ${n}` }),
      ),
    );
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    const { decision, note } = won[0]?.body ?? {};
    for (const { status, body } of answers.filter((answer) => answer !== won[0]))
      expect({ status, body }).toMatchObject({ status: 409, body: { details: { decision, note } } });
    expect((await finish(box, runId)).output).toMatchObject({ decision, note });
  });

  test.each([
    ['approve', true],
    ['reject', false],
    [undefined, false],
  ] as const)('expires with its fallback: %s', async (fallback, approved) => {
    const box = await open();
    const request = { timeout: '60ms', ...(fallback ? { fallback } : {}) };
    const { approvalId, runId } = await askOne(box, request);
    const decision = fallback ?? 'reject';
    expect((await finish(box, runId)).output).toEqual({
      approved,
      decision,
      by: null,
      note: null,
      input: null,
      timedOut: true,
    });
    expect(await get(box, approvalId)).toMatchObject({
      status: 'expired',
      decision,
      decidedBy: null,
      audit: [{ action: 'asked' }, { action: 'expired', by: null }],
    });
    expect(await decide(box, approvalId, { decision: 'approve' })).toMatchObject({
      status: 409,
      body: { code: 'already_decided', details: { status: 'expired', decision, decidedBy: null } },
    });
  });

  test('is cancelled with its run, and cannot be decided then', async () => {
    const box = await open();
    const { approvalId, runId } = await askOne(box);
    await call(box, `POST /api/runs/${runId}/cancel`);
    expect(await get(box, approvalId)).toMatchObject({ status: 'cancelled', decision: null });
    expect(await list(box, '?status=pending')).toEqual([]);
    expect(await decide(box, approvalId, { decision: 'approve' })).toMatchObject({
      status: 409,
      body: { code: 'approval_closed' },
    });
  });

  test('asked beside another is decided in any order', async () => {
    const box = await open();
    const runId = await startWorkflow(box, 'both');
    await until(async () => (await list(box, '?status=pending')).length === 2);
    const items = await list(box);
    const idOf = (title: string) => items.find((approval) => approval.title === title)?.approvalId ?? '';
    await decide(box, idOf('Second?'), { decision: 'reject' });
    expect((await list(box, '?status=pending')).map(({ title }) => title)).toEqual(['First?']);
    await decide(box, idOf('First?'), { decision: 'approve' });
    expect((await finish(box, runId)).output).toMatchObject([{ approved: true }, { approved: false }]);
  });

  test('is still pending after a restart, and decided then', async () => {
    const first = await open();
    const { approvalId, runId } = await askOne(first);
    const box = await first.restart();
    expect((await list(box, '?status=pending')).map((approval) => approval.approvalId)).toEqual([approvalId]);
    await decide(box, approvalId, { decision: 'approve' });
    expect((await finish(box, runId)).output).toMatchObject({ approved: true });
  });

  test('whose time is up while no box runs expires at the next boot', async () => {
    const first = await open();
    const { approvalId, runId } = await askOne(first, { timeout: '150ms', fallback: 'approve' });
    const box = await first.restart();
    expect((await finish(box, runId)).output).toMatchObject({ approved: true, timedOut: true });
    expect(await get(box, approvalId)).toMatchObject({ status: 'expired' });
  });

  test('has its whole time from when it is asked, however long ago the step before it was', async () => {
    let broken = true;
    const step = toStep('step', () => 1);
    const late = {
      run: async () => {
        await step();
        if (broken) throw new Error('The body failed.');
        return ask({ timeout: '1 hour' });
      },
    };
    const box = await boxes.open({ workflows: { late } });
    const failed = await finish(box, await startWorkflow(box, 'late'));
    const ended = Date.parse(String(failed.endedAt));
    await until(() => Date.now() > ended + 200);
    broken = false;
    await call(box, `POST /api/runs/${String(failed.runId)}/retry`);
    await until(async () => (await list(box)).length === 1);
    const [approval] = await list(box);
    expect(Date.parse(String(approval?.expiresAt))).toBeGreaterThan(ended + 150 + 3_600_000);
  });

  test('that was decided is not asked again by a retry of its run', async () => {
    let broken = true;
    const ship = toStep('ship', () => {
      if (broken) throw Object.assign(new Error('No ship.'), { fatal: true });
      return 'shipped';
    });
    const first = await boxes.open({ workflows: { ask: { run: async () => [(await ask()).note, await ship()] } } });
    const { approvalId, runId } = await askOne(first);
    await decide(first, approvalId, { decision: 'approve', note: 'Go.' });
    expect((await finish(first, runId)).status).toBe('failed');
    broken = false;
    const retry = await call(first, `POST /api/runs/${runId}/retry`);
    expect((await finish(first, String(retry.body.runId))).output).toEqual(['Go.', 'shipped']);
    expect(await list(first, '?status=pending')).toEqual([]);
    expect((await list(first)).map(({ status }) => status)).toEqual(['approved']);
  });
});

describe('a retry of a run that was waiting for a person', () => {
  test('asks again under the same id, with the whole time, over a restart', async () => {
    let broken = true;
    const fail = toStep('fail', () => {
      if (broken) throw Object.assign(new Error('No.'), { fatal: true });
      return 'went well';
    });
    const workflows = { ask: { run: async () => Promise.all([ask({ timeout: '1 hour' }), fail()]) } };
    const first = await boxes.open({ workflows });
    const failed = await finish(first, await startWorkflow(first, 'ask'));
    const [before] = await list(first);
    expect(before).toMatchObject({ status: 'cancelled', runId: failed.runId });
    await until(() => Date.now() > Date.parse(String(failed.endedAt)) + 1_500);
    broken = false;
    const retry = await call(first, `POST /api/runs/${String(failed.runId)}/retry`);
    const runId = String(retry.body.runId);
    await until(async () => (await list(first, '?status=pending')).length === 1);
    const [again] = await list(first, '?status=pending');
    expect(again).toMatchObject({ approvalId: before?.approvalId, runId });
    const whole = Date.parse(String(again?.expiresAt)) - Date.parse(String(again?.createdAt));
    // The ask is recorded a moment after its time has begun.
    expect(Math.abs(whole - 3_600_000)).toBeLessThan(1_000);
    await untilStatus(first, runId, 'waiting');
    expect(await getRun(first, runId)).toMatchObject({ waitingFor: { until: again?.expiresAt } });
    const box = await first.restart();
    expect((await list(box, '?status=pending'))[0]?.expiresAt).toBe(again?.expiresAt);
    await decide(box, String(again?.approvalId), { decision: 'approve' });
    expect((await finish(box, runId)).output).toMatchObject([{ approved: true }, 'went well']);
  });
});

describe('the list of approvals', () => {
  test('has the pending first, then the newest, and is filtered and cut as asked', async () => {
    const box = await open();
    const ids: string[] = [];
    for (let n = 0; n < 4; n++) ids.push((await askOne(box, { title: `Number ${n}?` })).approvalId);
    const [zero = '', one = '', two = '', three = ''] = ids;
    await decide(box, three, { decision: 'approve' });
    await decide(box, one, { decision: 'reject' });
    expect((await list(box)).map(({ approvalId }) => approvalId)).toEqual([two, zero, three, one]);
    expect((await list(box, '?status=approved')).map(({ approvalId }) => approvalId)).toEqual([three]);
    expect((await list(box, '?status=rejected')).map(({ approvalId }) => approvalId)).toEqual([one]);
    expect((await list(box, '?status=pending')).map(({ approvalId }) => approvalId)).toEqual([two, zero]);
    expect(await list(box, '?status=expired')).toEqual([]);
    expect((await list(box, '?limit=1')).map(({ approvalId }) => approvalId)).toEqual([two]);
  });

  test('is read page by page: none is left out, and one that comes meanwhile moves none', async () => {
    const box = await open();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift((await askOne(box, { title: `Number ${n}?` })).approvalId);
    const [newest = ''] = ids;
    await decide(box, newest, { decision: 'approve' });
    const seen: string[] = [];
    let cursor = '';
    for (let page = 0; page < 3; page++) {
      const { body } = await call<{ items: Approval[]; nextCursor: string | null }>(
        box,
        `GET /api/approvals?limit=2${cursor && `&cursor=${cursor}`}`,
      );
      seen.push(...body.items.map(({ approvalId }) => approvalId));
      cursor = body.nextCursor ?? '';
      expect(cursor === '').toBe(page === 2);
      await askOne(box, { title: `Later ${page}?` });
    }
    expect(seen).toEqual([...ids.slice(1), newest]);
  });

  test('is narrowed to a run and to who asks', async () => {
    const box = await open();
    const [one, two] = [await askOne(box), await askOne(box)];
    const of = async (query: string) => (await list(box, query)).map(({ approvalId }) => approvalId);
    expect(await of(`?run=${one.runId}`)).toEqual([one.approvalId]);
    expect(await of(`?source=workflow&limit=1`)).toEqual([two.approvalId]);
    expect(await of('?source=tool')).toEqual([]);
  });

  test.each(['x', 'W10', 'WzEsMiwzLDRd', '%00'])('refuses the cursor "%s"', async (cursor) => {
    expect(await call(await open(), `GET /api/approvals?cursor=${cursor}`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_cursor' },
    });
  });

  test('has of a large payload the beginning, and the approval has all of it', async () => {
    const box = await open();
    const orders = Array.from({ length: 2_000 }, (_, id) => ({ id, by: `customer ${id}` }));
    const large = await askOne(box, { payload: { batch: 'monday', orders } });
    const small = await askOne(box, { payload: { batch: 'tuesday' } });
    const [second, first] = await list(box);
    expect(second).toMatchObject({ approvalId: small.approvalId, payload: { batch: 'tuesday' }, cut: [] });
    expect(first).toMatchObject({ approvalId: large.approvalId, cut: ['payload'] });
    expect(first?.payload).toMatch(/^\{"batch":"monday","orders":\[\{"id":0,"by":"customer 0"\},.{400,500}…$/);
    expect(JSON.stringify(first).length).toBeLessThan(2_000);
    const whole = await get(box, large.approvalId);
    expect(whole.payload).toEqual({ batch: 'monday', orders });
    expect(whole).not.toHaveProperty('cut');
  });

  test('has no other hooks', async () => {
    const box = await open();
    await untilStatus(box, await startWorkflow(box, 'hook'), 'waiting');
    expect(await list(box)).toEqual([]);
    expect(await call(box, 'GET /api/approvals/a-hook')).toMatchObject({
      status: 404,
      body: { code: 'approval_not_found' },
    });
    expect((await decide(box, 'a-hook', { decision: 'approve' })).body.code).toBe('approval_not_found');
  });

  test.each(['status=done', 'limit=0', 'limit=201', 'page=2'])('refuses %s', async (query) => {
    expect(await call(await open(), `GET /api/approvals?${query}`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_request' },
    });
  });
});

describe('a decision that is none', () => {
  test('says how a call is edited, where it is "edit"', async () => {
    const refused = await decide(await open(), 'any', { decision: 'edit', input: {} });
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(JSON.stringify(refused.body)).toContain('To edit a call, approve it with');
  });

  const rows: unknown[] = [
    {},
    { decision: 'maybe' },
    { decision: true },
    { decision: 'approve', note: 1 },
    { decision: 'approve', by: 'me' },
    { decision: 'approve', note: 'x'.repeat(10_001) },
    [],
    null,
    'approve',
  ];
  test.each(rows.map((body) => [JSON.stringify(body).slice(0, 50), body]))(
    '%s is 400 on both routes',
    async (_text, body) => {
      const box = await open();
      const { approvalId } = await askOne(box);
      for (const route of [`/api/approvals/${approvalId}/decide`, `/api/workflows/hooks/${approvalId}/resume`])
        expect(await call(box, `POST ${route}`, body)).toMatchObject({
          status: 400,
          body: { code: 'invalid_request' },
        });
      expect(await get(box, approvalId)).toMatchObject({ status: 'pending' });
    },
  );

  test('of no approval is 404', async () => {
    expect(await decide(await open(), 'nope', { decision: 'approve' })).toMatchObject({
      status: 404,
      body: { code: 'approval_not_found', message: 'There is no approval "nope".' },
    });
  });
});

test('the resume of its hook decides an approval as well', async () => {
  const box = await open();
  const { approvalId, runId } = await askOne(box);
  const body = { decision: 'approve', note: 'By the hook.' };
  expect(await call(box, `POST /api/workflows/hooks/${approvalId}/resume`, body)).toEqual({
    status: 200,
    body: { runId, status: 'resumed' },
  });
  expect((await finish(box, runId)).output).toMatchObject({ approved: true, note: 'By the hook.', by: 'owner' });
});
