import { z } from 'zod';
import { operation } from '../operations/define.ts';

export const resumeHook = operation({
  id: 'hooks.resume',
  summary: 'Resume a parked hook; the token names the hook and is not a credential',
  route: 'POST /api/workflows/hooks/:token/resume',
  tag: 'approvals',
  kind: 'write',
  permission: 'hitl:decide',
  copilot: 'no: token in the path',
  body: 'payload',
  input: z.strictObject({ token: z.string(), payload: z.unknown() }),
  output: z.object({ runId: z.uuid(), status: z.literal('resumed') }),
  handle: ({ hooks }, { token, payload }) => hooks.resume(token, payload, 'owner'),
});
