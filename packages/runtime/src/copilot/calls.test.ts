import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ToolContext } from '../definitions/agent.ts';
import { ASKED_BY } from '../engine/box-marks.ts';
import { createLog } from '../log.ts';
import type { Operation } from '../operations/define.ts';
import type { Rooms } from '../surface/rooms.ts';
import { createCalls } from './calls.ts';

interface Left {
  /** What the activity log has. */
  log?: { id: string; requestId: string }[];
  /** What was used up before the process ended. */
  used: string[];
  /** The operation. Default: one that changes the database alone. */
  id?: string;
}

/** A call whose step is repeated: the process it had begun in was killed. */
async function repeat(how: 'write' | 'confirm', { log = [], used, id = 'things.delete' }: Left) {
  let ran = 0;
  const op: Operation = {
    id,
    summary: 'Delete a thing',
    route: 'DELETE /api/things/:id',
    tag: 'things',
    kind: 'write',
    permission: 'runs:delete',
    confirm: true,
    copilot: 'yes',
    input: z.object({}),
    output: z.object({}),
    handle: () => (ran += 1),
  };
  const gone = new Set(used);
  const calls = createCalls({
    rooms: () =>
      ({
        settings: { isCopilotEnabled: async () => true },
        activity: { list: async () => ({ items: log, nextCursor: null }), get: async () => ({ after: 'its answer' }) },
      }) as unknown as Rooms,
    confirmations: { ask: async () => ({ state: 'state', expiresAt: '' }), redeem: async () => ({ input: {} }) },
    used: { use: async (value) => !gone.has(value) && gone.add(value) !== undefined },
    journal: { getRun: async () => ({ attributes: JSON.stringify({ [ASKED_BY]: 'owner' }) }) as never },
    log: createLog({ level: 'silent', write: () => {} }),
  });
  const caller = { kind: 'person', id: 'owner', name: 'owner', role: 'owner' };
  const context = { run: { id: 'r' }, idempotencyKey: 'step', caller } as unknown as ToolContext;
  const call = () =>
    how === 'write' ? calls.write(op, {}, context) : calls.confirm(op, { input: {}, requestState: 's' }, context);
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

  test('of many runs is not claimed to be known, once it has begun', async () => {
    const done = await repeat(how, { used: ['call step', 'ran step'], id: 'runs.cancel_all' });
    const code = how === 'write' ? 'call_interrupted' : 'confirmation_required';
    const details = how === 'write' ? { ran: 'unknown' } : { reason: 'interrupted' };
    expect(done).toMatchObject({ answer: { code, details, message: expect.stringContaining('look first') }, ran: 0 });
  });
});
