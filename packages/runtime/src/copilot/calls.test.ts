import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ToolContext } from '../definitions/agent.ts';
import { ASKED_BY } from '../engine/box-marks.ts';
import { createLog } from '../log.ts';
import type { Confirmations } from '../mcp/confirmations.ts';
import type { Operation } from '../operations/define.ts';
import type { Rooms } from '../surface/rooms.ts';
import { createCalls } from './calls.ts';

interface Left {
  /** What the activity log has. */
  log?: { id: string; requestId: string }[];
  /** What was used up before the process ended. */
  used: string[];
  /** How the operation settles. Default: it changes the database alone. */
  settles?: Operation['settles'];
  /** What its mark was left with. */
  content?: string;
  /** Members that are not shown. */
  secret?: string[];
  input?: Record<string, unknown>;
  confirmations?: Confirmations;
}

const CONFIRMED: Confirmations = {
  ask: async () => ({ state: 'state', expiresAt: '' }),
  redeem: async () => ({ input: {} }),
  read: async () => ({}),
};

/** A call whose step is repeated: the process it had begun in was killed. */
async function repeat(how: 'write' | 'confirm', left: Left) {
  const { log = [], used, settles, content, secret = [], input = {}, confirmations = CONFIRMED } = left;
  let ran = 0;
  const op: Operation = {
    id: 'things.delete',
    summary: 'Delete a thing',
    route: 'DELETE /api/things/:id',
    tag: 'things',
    kind: 'write',
    permission: 'runs:delete',
    confirm: true,
    copilot: 'yes',
    secret,
    input: z.looseObject({}),
    output: z.object({}),
    ...(settles ? { settles } : {}),
    handle: () => (ran += 1),
  };
  const gone = new Set(used);
  const calls = createCalls({
    rooms: () =>
      ({
        ...ROOMS_OF_A_MODEL,
        settings: { isCopilotEnabled: async () => true },
        activity: { list: async () => ({ items: log, nextCursor: null }), get: async () => ({ after: 'its answer' }) },
      }) as unknown as Rooms,
    confirmations,
    hidden: { open: async (_op, given) => given.input },
    used: { use: async (value) => !gone.has(value) && gone.add(value) !== undefined, read: async () => content },
    journal: { getRun: async () => ({ attributes: JSON.stringify({ [ASKED_BY]: 'owner' }) }) as never },
    log: createLog({ level: 'silent', write: () => {} }),
  });
  const caller = { kind: 'person', id: 'owner', name: 'owner', role: 'owner' };
  const context = { run: { id: 'r' }, idempotencyKey: 'step', caller } as unknown as ToolContext;
  const call = () =>
    how === 'write' ? calls.write(op, {}, context) : calls.confirm(op, { input, requestState: 's' }, context);
  return { answer: await call().catch((error: unknown) => error), ran };
}

const log = [
  { id: 'a', requestId: 'other' },
  { id: 'b', requestId: 'step' },
];

describe.each(['write', 'confirm'] as const)('a %s that had begun before a kill', (how) => {
  test('is not run again, and answers what it had answered', async () => {
    const done = await repeat(how, { log, used: ['call step', 'ran step'] });
    expect(done).toMatchObject({ answer: { ran: true, answer: 'its answer' }, ran: 0 });
  });

  test('is known to have run by its mark alone', async () => {
    const done = await repeat(how, { log: log.slice(0, 1), used: ['call step', 'ran step'] });
    expect(done).toMatchObject({ answer: { ran: true, note: expect.stringContaining('Read what came') }, ran: 0 });
  });

  test('is known not to have run without it, and is not run unasked', async () => {
    const done = await repeat(how, { used: ['call step'] });
    const code = how === 'write' ? 'call_interrupted' : 'confirmation_required';
    const details = how === 'write' ? { ran: false } : { reason: 'not_begun' };
    expect(done).toMatchObject({ answer: { code, details }, ran: 0 });
  });

  test('is known not to have run by who looked before, and was killed in turn', async () => {
    const done = await repeat(how, { used: ['call step', 'ran step'], content: 'looked for' });
    const code = how === 'write' ? 'call_interrupted' : 'confirmation_required';
    expect(done).toMatchObject({ answer: { code }, ran: 0 });
  });

  test.each([
    [true, { ran: true }],
    [false, { code: how === 'write' ? 'call_interrupted' : 'confirmation_required' }],
  ] as const)('is looked for, where that is how it settles: %s', async (isDone, answer) => {
    const settles = { isDone: async () => isDone };
    expect(await repeat(how, { used: ['call step', 'ran step'], settles })).toMatchObject({ answer, ran: 0 });
  });

  test.each([
    [0, { code: how === 'write' ? 'call_interrupted' : 'confirmation_required' }],
    [1, { ran: 'in part', done: 1, of: 3, note: expect.stringContaining('1 of 3 are done') }],
    [3, { ran: true }],
  ] as const)('of many things is counted by what it has begun with: %i of 3', async (done, answer) => {
    const settles = { begun: async (_: object, what: unknown) => ({ done, of: (what as unknown[]).length }) };
    const left = { used: ['call step', 'ran step'], settles, content: '["a","b","c"]' };
    expect(await repeat(how, left)).toMatchObject({ answer, ran: 0 });
  });
});

describe('a confirmed call of which a member is not shown, that had begun before a kill', () => {
  const confirmHidden = async (kept: Record<string, unknown> | undefined) => {
    const asked: unknown[] = [];
    const left = {
      used: ['call step'],
      secret: ['value'],
      input: { name: 'BANK', value: '[hidden]' },
      confirmations: {
        ask: async ({ input }: { input: unknown }) => {
          asked.push(input);
          return { state: 'anew', expiresAt: '' };
        },
        redeem: async () => ({ doubt: 'used' as const, hidden: {} }),
        read: async () => (kept ? { hidden: kept } : { doubt: 'unknown' as const }),
      },
    };
    return { ...(await repeat('confirm', left)), asked };
  };

  test('is asked about once more with what was not shown, where its state can be opened', async () => {
    const { answer, asked, ran } = await confirmHidden({ value: 'hush' });
    expect(answer).toMatchObject({
      code: 'confirmation_required',
      details: { reason: 'not_begun', call: { input: { name: 'BANK', value: '[hidden]' } } },
      requestState: 'anew',
    });
    expect([asked, ran]).toEqual([[{ name: 'BANK', value: 'hush' }], 0]);
  });

  test('else has to be sent again with it, and nothing ran', async () => {
    const { answer, asked, ran } = await confirmHidden(undefined);
    expect(answer).toMatchObject({
      code: 'confirmation_required',
      message: expect.stringMatching(/Nothing ran\. "value" of "things\.delete" is not kept/),
      details: { reason: 'not_begun', missing: ['value'] },
    });
    expect([Object.keys(answer as object).includes('requestState'), asked, ran]).toEqual([false, [], 0]);
  });
});

/** What a model is shown of them is another room each; none is asked here. */
const ROOMS_OF_A_MODEL = {
  approvals: { forModel: () => ({}) },
  hooks: { with: () => ({}) },
  runs: { forModel: () => ({}) },
  sessions: { forModel: () => ({}) },
  workflows: {},
};
