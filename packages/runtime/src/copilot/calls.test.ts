import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ToolContext } from '../definitions/agent.ts';
import { ASKED_BY } from '../engine/box-marks.ts';
import { createLog } from '../log.ts';
import type { Operation } from '../operations/define.ts';
import type { Rooms } from '../surface/rooms.ts';
import { createCalls } from './calls.ts';

/** A call whose step is repeated: the process it had begun in was killed. */
async function repeat(how: 'write' | 'confirm', log: { requestId: string }[]) {
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
    input: z.object({}),
    output: z.object({}),
    handle: () => (ran += 1),
  };
  const calls = createCalls({
    rooms: () =>
      ({
        settings: { isCopilotEnabled: async () => true },
        activity: { list: async () => ({ items: log, nextCursor: null }) },
      }) as unknown as Rooms,
    confirmations: {
      ask: async () => ({ state: 'state', expiresAt: '' }),
      redeem: async () => ({ input: {} }),
      isFirst: async () => false,
    },
    journal: { getRun: async () => ({ attributes: JSON.stringify({ [ASKED_BY]: 'owner' }) }) as never },
    log: createLog({ level: 'silent', write: () => {} }),
  });
  const caller = { kind: 'person', id: 'owner', name: 'owner', role: 'owner' };
  const context = { run: { id: 'r' }, idempotencyKey: 'step', caller } as unknown as ToolContext;
  const answer =
    how === 'write' ? calls.write(op, {}, context) : calls.confirm(op, { input: {}, requestState: 's' }, context);
  return { answer: await answer.catch((error: unknown) => error), ran };
}

test.each(['write', 'confirm'] as const)(
  'a %s that had begun before a kill is not run again, and says which',
  async (how) => {
    const done = await repeat(how, [{ requestId: 'other' }, { requestId: 'step' }]);
    expect(done).toMatchObject({ answer: { ran: true }, ran: 0 });
    const unknown = await repeat(how, [{ requestId: 'other' }]);
    expect(unknown).toMatchObject({
      answer: { code: 'confirmation_required', details: { reason: 'interrupted' } },
      ran: 0,
    });
  },
);
