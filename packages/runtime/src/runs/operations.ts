import { z } from 'zod';
import { parseDuration } from '../engine/duration.ts';
import { BoxError } from '../errors.ts';
import { operation } from '../operations/define.ts';
import { Run, RunKind, RunStatus, RunTrigger } from './run.ts';

const MAX_WAIT_MS = 60_000;
const RUN_ID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/;

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
    name: z.string().optional().describe('Agent or workflow name'),
    kind: RunKind.optional(),
    status: RunStatus.optional(),
    trigger: RunTrigger.optional(),
    session: z.string().optional().describe('Session id'),
    limit: z.coerce.number().int().min(1).max(200).default(50),
    cursor: z.string().optional().describe('`nextCursor` of the page before'),
  }),
  output: z.object({ items: z.array(Run), nextCursor: z.string().nullable() }),
  handle({ runs }, { limit, cursor, session, ...filter }) {
    if (cursor !== undefined && !RUN_ID.test(cursor))
      throw new BoxError('invalid_cursor', `"${cursor}" is not a cursor. Pass the "nextCursor" of the page before.`);
    return runs.list(withoutUndefined({ ...filter, sessionId: session }), withoutUndefined({ limit, cursor }));
  },
});

export const getRun = operation({
  id: 'runs.get',
  summary: 'Get one run with its status, input, output, error and token counts',
  route: 'GET /api/runs/:id',
  tag: 'runs',
  kind: 'read',
  permission: 'runs:read',
  copilot: 'yes',
  cli: 'runs get',
  input: z.strictObject({
    id: z.string().describe('The run id'),
    wait: z
      .string()
      .optional()
      .describe('Hold the answer until the run is final, at most this long: `30s`, up to 60 s'),
  }),
  output: Run,
  async handle({ runs }, { id, wait }) {
    const run = await runs.find(id, wait === undefined ? 0 : parseWait(wait));
    if (!run) throw new BoxError('run_not_found', `There is no run "${id}".`);
    return run;
  },
});

// --- internal ---

function parseWait(text: string): number {
  try {
    return Math.min(MAX_WAIT_MS, parseDuration(/^\d+$/.test(text) ? Number(text) : text));
  } catch (error) {
    throw new BoxError('invalid_request', `"wait": ${(error as Error).message}`);
  }
}

/** Drops members that are undefined, for targets whose optional members must be absent. */
function withoutUndefined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as never;
}
