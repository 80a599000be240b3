import { z } from 'zod';
import { toDecider } from '../approvals/approvers.ts';
import { operationsOf } from '../operations/define.ts';
import { IDEMPOTENCY_HEADER, IdempotencyKey } from '../operations/inputs.ts';
import type { Hooks } from './hooks.ts';

const operation = operationsOf<{ hooks: Hooks }>();

export const resumeHook = operation({
  id: 'hooks.resume',
  summary: 'Resume a parked hook; the token names the hook and is not a credential',
  route: 'POST /api/workflows/hooks/:token/resume',
  tag: 'approvals',
  kind: 'write',
  permission: 'hitl:decide',
  copilot: 'no: token in the path',
  body: 'payload',
  headers: IDEMPOTENCY_HEADER,
  errors: [
    'hook_not_found',
    'hook_closed',
    'hook_queue_full',
    'already_decided',
    'not_an_approver',
    'arguments_changed',
  ],
  input: z.strictObject({ token: z.string(), payload: z.unknown(), idempotencyKey: IdempotencyKey }),
  output: z.object({ runId: z.uuid(), status: z.literal('resumed') }),
  handle: ({ hooks }, { token, payload, idempotencyKey }, { caller }) =>
    hooks.resume(token, payload, toDecider(caller, idempotencyKey)),
});
