import { z } from 'zod';
import { requirePermission } from '../auth/caller.ts';
import { KeptResume } from '../hooks/signal.ts';
import type { HookSignals } from '../hooks/signal.ts';
import { operationsOf } from '../operations/define.ts';
import { IDEMPOTENCY_HEADER, IdempotencyKey, Page, withoutUndefined } from '../operations/inputs.ts';
import { StartReceipt } from '../runs/start-receipt.ts';
import { triggerOf } from './start-options.ts';
import type { Workflows } from './workflows.ts';

const operation = operationsOf<{ signals: HookSignals; workflows: Workflows }>();

const room = { tag: 'approvals' } as const;

export const signalHook = operation({
  ...room,
  id: 'hooks.signal',
  summary: 'Resume a hook, or keep the payload until there is one; starts the workflow that makes it, where asked to',
  route: 'POST /api/workflows/hooks/:token/signal',
  kind: 'write',
  permission: 'hitl:decide',
  copilot: 'no: token in the path',
  cli: 'hooks signal',
  headers: IDEMPOTENCY_HEADER,
  errors: [
    'hook_not_found',
    'already_decided',
    'hook_queue_full',
    'workflow_not_found',
    'workflow_input_invalid',
    'workflow_busy',
    'workflow_rate_limited',
    'workflow_compile_failed',
    'workflow_runtime_not_armed',
    'shutting_down',
  ],
  input: z.strictObject({
    token: z.string(),
    payload: z.unknown().optional().describe('What the hook is resumed with; default null'),
    waitFor: z
      .string()
      .optional()
      .describe('How long it waits for its hook, such as "10m"; default "1h", at most "7d"'),
    start: z
      .strictObject({
        workflow: z.string(),
        input: z.unknown().optional().describe('Default: {}'),
        id: z.string().optional().describe('A run of this id that has not ended is the one that is meant'),
      })
      .optional()
      .describe('Starts this workflow as well, once the payload is kept; needs the permission `workflows:start`'),
    idempotencyKey: IdempotencyKey,
  }),
  output: z.object({
    status: z.enum(['resumed', 'kept']),
    runId: z.uuid().nullable().describe('Of the hook that was resumed'),
    keptUntil: z.iso.datetime().nullable(),
    start: StartReceipt.nullable(),
  }),
  async handle({ signals, workflows }, { token, payload = null, waitFor, start: wanted, idempotencyKey }, { caller }) {
    if (wanted) requirePermission(caller, 'workflows:start');
    let start: StartReceipt | null = null;
    const begin = async ({ workflow, input = {}, id }: NonNullable<typeof wanted>): Promise<void> => {
      const how = { trigger: triggerOf(caller), caller, id, idempotencyKey };
      start = await workflows.start(
        workflow,
        input,
        withoutUndefined({ ...how, onConflict: id === undefined ? undefined : ('join' as const) }),
      );
    };
    const signalled = await signals.signal(
      token,
      payload,
      withoutUndefined({ waitFor, idempotencyKey, start: wanted && (() => begin(wanted)) }),
    );
    return { runId: null, keptUntil: null, ...signalled, start };
  },
});

export const listKept = operation({
  ...room,
  id: 'hooks.kept',
  summary: 'List the payloads that wait for their hooks, oldest first',
  route: 'GET /api/workflows/hooks/kept',
  kind: 'read',
  permission: 'hitl:read',
  copilot: 'yes',
  cli: 'hooks kept',
  errors: ['invalid_cursor'],
  input: z.strictObject({ token: z.string().optional(), ...Page }),
  output: z.object({ items: z.array(KeptResume), nextCursor: z.string().nullable() }),
  handle: ({ signals }, { token, limit, cursor }) =>
    signals.listKept(withoutUndefined({ token }), withoutUndefined({ limit, cursor })),
});
