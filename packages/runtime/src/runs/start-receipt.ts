import { z } from 'zod';

/** What a start answers. A queued start is no run yet and has no `runId`. */
export const StartReceipt = z.union([
  z.object({
    workflowName: z.string(),
    status: z.literal('started'),
    runId: z.uuid(),
    worldRunId: z.string().describe("The engine's own run id; the run record carries it as `traceId`"),
    trigger: z.string(),
  }),
  z.object({ workflowName: z.string(), status: z.literal('queued'), triggerId: z.uuid(), trigger: z.string() }),
]);
export type StartReceipt = z.output<typeof StartReceipt>;
