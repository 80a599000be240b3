import { z } from 'zod';
import type { RunFilter } from '../engine/journal/reading.ts';
import { parseDuration } from '../engine/duration.ts';
import { BoxError, invalidCursor } from '../errors.ts';
import { operationsOf } from '../operations/define.ts';
import { Page, withoutUndefined } from '../operations/inputs.ts';
import { FoundStart, runNotFound } from './runs.ts';
import { ListedRun, RunDetail, RunKind, RunStatus, RunTrigger } from './run.ts';
import { Looked } from './search.ts';
import { RunStats } from './stats.ts';
import type { Runs } from './runs.ts';

const operation = operationsOf<{ runs: Runs }>();

const MAX_WAIT_MS = 60_000;
export const RUN_ID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/;
const BUCKETS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

const time = z.iso.datetime({ offset: true });

/** What narrows runs down. */
export const Filter = {
  name: z.string().optional().describe('Agent or workflow name'),
  kind: RunKind.optional(),
  status: RunStatus.optional(),
  trigger: RunTrigger.optional(),
  session: z.string().optional().describe('Session id'),
  parent: z.string().optional().describe('Id of the run that started them'),
  retryOf: z.string().optional().describe('Id of the run they repeat'),
  forkedFrom: z.string().optional().describe('Id of the run they were forked from, or go on in the place of'),
  attribute: z
    .string()
    .regex(/^[^:]+:/, 'Write <name>:<value>')
    .optional()
    .describe('`<name>:<value>` of a mark the workflow put on its run'),
  client: z.string().optional().describe('The application that had them started, and those of its users'),
  user: z.string().optional().describe('What a client calls its user'),
  from: time.optional().describe('Created then or later'),
  to: time.optional().describe('Created before then'),
};
export type FilterInput = z.infer<z.ZodObject<typeof Filter>>;

export const listRuns = operation({
  id: 'runs.list',
  summary: 'List runs, newest first',
  route: 'GET /api/runs',
  tag: 'runs',
  kind: 'read',
  permission: 'runs:read',
  copilot: 'yes',
  cli: 'runs list',
  input: z.strictObject({
    ...Filter,
    has: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe(
        'A text that their input, output or attributes hold, of any case; JSON is written without spaces. A page looks through 2,000 runs at most and may be empty: go on with its `nextCursor`',
      ),
    ...Page,
  }),
  output: z.object({
    items: z.array(ListedRun),
    nextCursor: z.string().nullable(),
    looked: Looked.optional().describe('How far was looked for `has`; only there with it'),
  }),
  handle({ runs }, { limit, cursor, has, ...filter }) {
    if (cursor !== undefined && !RUN_ID.test(cursor)) throw invalidCursor(cursor);
    const page = withoutUndefined({ limit, cursor });
    return has === undefined ? runs.list(toFilter(filter), page) : runs.search(toFilter(filter), { ...page, has });
  },
});

export const getRunStats = operation({
  id: 'runs.stats',
  summary: 'Count how many runs there were by status and time, how long they took and their tokens',
  route: 'GET /api/runs/stats',
  tag: 'runs',
  kind: 'read',
  permission: 'runs:read',
  copilot: 'yes',
  input: z.strictObject({
    ...Filter,
    bucket: z.enum(['minute', 'hour', 'day']).default('hour').describe('A day is one of UTC'),
    from: time.optional().describe('Default: a day ago'),
    to: time.optional().describe('Default: now'),
  }),
  output: z.object({ items: z.array(RunStats), nextCursor: z.null() }),
  handle: async ({ runs }, { bucket, ...filter }) => ({
    items: await runs.stats(toFilter(filter), BUCKETS[bucket]),
    nextCursor: null,
  }),
});

export const listStarts = operation({
  id: 'runs.starts',
  summary: 'Find starts that were queued by the beginning of their trigger id: those that wait, and the runs of others',
  route: 'GET /api/runs/starts',
  tag: 'runs',
  kind: 'read',
  permission: 'runs:read',
  copilot: 'yes',
  input: z.strictObject({
    trigger: z
      .string()
      .regex(/^[\da-f-]{8,36}$/, 'Write at least the first 8 characters of a trigger id')
      .describe('The trigger id, or 8 characters of its beginning or more'),
    limit: Page.limit,
  }),
  output: z.object({ items: z.array(FoundStart).describe('Newest first'), nextCursor: z.null() }),
  handle: async ({ runs }, { trigger, limit }) => ({ items: await runs.startsOf(trigger, limit), nextCursor: null }),
});

const WaitInput = z.strictObject({
  id: z.string().describe('The run id'),
  wait: z.string().optional().describe('Hold the answer until the run is final, at most this long: `30s`, up to 60 s'),
});

export const getRun = operation({
  id: 'runs.get',
  summary: 'Get one run with its status, input, output, error, token counts and cost',
  route: 'GET /api/runs/:id',
  tag: 'runs',
  kind: 'read',
  permission: 'runs:read',
  copilot: 'yes',
  cli: 'runs get',
  errors: ['run_not_found'],
  input: WaitInput,
  output: RunDetail,
  keys: true,
  async handle({ runs }, { id, wait }, { signal }) {
    const run = await runs.findWhole(id, toWait(wait, signal));
    if (!run) throw runNotFound(id);
    return run;
  },
});

export const getWorkflowRun = operation({
  id: 'workflows.run',
  summary: 'Get one run of a workflow, for the caller that started it: the same as the run itself',
  route: 'GET /api/workflows/runs/:id',
  tag: 'workflows',
  kind: 'read',
  permission: 'runs:read',
  copilot: 'no: runs.get is the same',
  errors: ['run_not_found'],
  input: WaitInput,
  output: RunDetail,
  keys: true,
  async handle({ runs }, { id, wait }, { signal }) {
    // Looked at first: no caller waits for a run that is not theirs to see.
    const found = await runs.find(id);
    if (found?.kind !== 'workflow') throw runNotFound(id);
    const run = await runs.findWhole(id, toWait(wait, signal));
    if (!run) throw runNotFound(id);
    return run;
  },
});

export function toFilter({ session, parent, attribute, from, to, ...same }: FilterInput): RunFilter {
  const colon = attribute?.indexOf(':') ?? -1;
  return withoutUndefined({
    ...same,
    sessionId: session,
    parentRunId: parent,
    attribute: attribute && { name: attribute.slice(0, colon), value: attribute.slice(colon + 1) },
    from: from && Date.parse(from),
    to: to && Date.parse(to),
  }) as RunFilter;
}

// --- internal ---

function toWait(text: string | undefined, signal: AbortSignal): { ms: number; signal: AbortSignal } | undefined {
  if (text === undefined) return undefined;
  const ms = parseWait(text);
  if (ms > MAX_WAIT_MS) throw new BoxError('invalid_request', `"wait" is "${text}". It is at most 60s.`);
  return { ms, signal };
}

function parseWait(text: string): number {
  try {
    return parseDuration(/^\d+$/.test(text) ? Number(text) : text);
  } catch (error) {
    throw new BoxError('invalid_request', `"wait": ${(error as Error).message}`);
  }
}
