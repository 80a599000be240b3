import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { Page, withoutUndefined } from '../operations/inputs.ts';
import type { Runs } from './runs.ts';
import { RunStream } from './streams.ts';
import { RunWebhook } from './webhooks.ts';

const operation = operationsOf<{ runs: Runs }>();

const id = z.string().describe('The run id');
const room = { tag: 'runs', kind: 'read' } as const;

export const listRunStreams = operation({
  ...room,
  id: 'runs.streams',
  summary: 'List the streams that a run has written to',
  route: 'GET /api/runs/:id/streams',
  permission: 'runs:read',
  copilot: 'yes',
  cli: 'runs streams',
  keys: true,
  errors: ['run_not_found'],
  input: z.strictObject({ id }),
  output: z.object({ items: z.array(RunStream) }),
  handle: async ({ runs }, input) => ({ items: await runs.streams(input.id) }),
});

export const readRunStream = operation({
  ...room,
  id: 'runs.stream',
  summary: 'Stream what a run has written to one of its streams as server-sent events',
  route: 'GET /api/runs/:id/streams/:name',
  permission: 'runs:read',
  copilot: 'no: stream',
  answer: 'sse',
  cli: 'runs stream',
  keys: true,
  headers: { 'last-event-id': 'lastEventId' },
  errors: ['run_not_found', 'too_many_streams'],
  input: z.strictObject({
    id,
    name: z
      .string()
      .describe('Its name, as `runs.streams` lists it, or as an output says it: `{"stream":"step:0:1:0"}`'),
    startIndex: z.coerce
      .number()
      .int()
      .min(-100_000)
      .max(100_000_000)
      .optional()
      .describe('The first frame, from 0; below 0: counted from the end. Default: 0'),
    follow: z
      .union([z.boolean(), z.enum(['true', 'false'])])
      .optional()
      .describe('Waits for frames until the stream is closed or the run is over. Default: only what there is by now'),
    lastEventId: z.string().optional().describe('Goes on after this frame; as a header, or in the query'),
  }),
  output: z.unknown(),
  handle: ({ runs }, { id: runId, follow, ...rest }, { signal }) =>
    runs.followStream(withoutUndefined({ runId, follow: String(follow) === 'true', ...rest }), signal),
});

export const listRunWebhooks = operation({
  ...room,
  id: 'runs.webhooks',
  summary: 'List the addresses of the webhooks a run has made; who calls one resumes it',
  route: 'GET /api/runs/:id/webhooks',
  // Who holds an address decides in place of the service it was made for.
  permission: 'hitl:decide',
  copilot: 'no: secret in the answer',
  cli: 'runs webhooks',
  errors: ['run_not_found', 'invalid_cursor'],
  input: z.strictObject({ id, ...Page }),
  output: z.object({ items: z.array(RunWebhook), nextCursor: z.string().nullable() }),
  handle: ({ runs }, { id: runId, limit, cursor }) => runs.webhooks(runId, withoutUndefined({ limit, cursor })),
});
