import { z } from 'zod';
import { invalidCursor } from '../errors.ts';
import { operationsOf } from '../operations/define.ts';
import { withoutUndefined } from '../operations/inputs.ts';
import { reachedOf } from '../runs/bulk.ts';
import { RUN_ID } from '../runs/operations.ts';
import { UpgradePage } from './payload.ts';
import type { Upgrade, UpgradeRequest } from './upgrade.ts';

const operation = operationsOf<{ upgrade: Upgrade }>();

const room = { tag: 'runs', copilot: 'yes', output: UpgradePage } as const;

const filter = {
  name: z.string().optional().describe('Of a workflow or an agent: its runs alone'),
  run: z.string().regex(RUN_ID, 'Write a run id').optional().describe('This run alone'),
  cursor: z.string().optional().describe('`nextCursor` of the page before'),
};

export const checkUpgrade = operation({
  ...room,
  id: 'upgrade.check',
  summary:
    'Say which unfinished runs of earlier code the newest code fits, by what they have recorded; nothing is executed',
  route: 'GET /api/upgrade',
  kind: 'read',
  permission: 'runs:read',
  errors: ['workflow_runtime_not_armed', 'workflow_not_found', 'invalid_cursor'],
  input: z.strictObject({ ...filter, limit: z.coerce.number().int().min(1).max(100).default(25) }),
  handle: ({ upgrade }, given, { signal }) => upgrade.check(toRequest(given, signal)),
});

export const applyUpgrade = operation({
  ...room,
  id: 'upgrade.apply',
  summary:
    'Give unfinished runs of earlier code the newest code where it fits what they have recorded; others stay as they are',
  route: 'POST /api/upgrade',
  kind: 'write',
  permission: 'runs:retry',
  confirm: true,
  errors: ['workflow_runtime_not_armed', 'workflow_not_found', 'invalid_cursor'],
  input: z.strictObject({ ...filter, limit: z.int().min(1).max(100).default(25) }),
  settles: { begun: ({ upgrade }, what) => reachedOf(what, (runId) => upgrade.isDone(runId)) },
  handle: ({ upgrade }, given, { signal, begin }) => upgrade.apply(toRequest(given, signal), begin),
});

// --- internal ---

interface Given {
  name?: string | undefined;
  run?: string | undefined;
  cursor?: string | undefined;
  limit: number;
}

function toRequest({ run: runId, cursor, ...given }: Given, signal: AbortSignal): UpgradeRequest {
  if (cursor !== undefined && !RUN_ID.test(cursor)) throw invalidCursor(cursor);
  return { ...withoutUndefined({ ...given, runId, cursor }), signal } as UpgradeRequest;
}
