import { z } from 'zod';
import type { Caller } from '../auth/caller.ts';
import { hiddenFrom } from '../auth/visibility.ts';
import { operationsOf } from '../operations/define.ts';
import { Page, withoutUndefined } from '../operations/inputs.ts';
import { runNotFound } from '../runs/runs.ts';
import { LogEntry, LogLevelName } from './entry.ts';
import type { LogFilter } from './filter.ts';
import type { Logs } from './logs.ts';
import type { Runs } from '../runs/runs.ts';

const operation = operationsOf<{ logs: Logs; runs: Runs }>();

const time = z.iso.datetime({ offset: true });
const runId = z.string().describe('The run id');
const LogPage = z.object({ items: z.array(LogEntry), nextCursor: z.string().nullable() });
const lastEventId = z.string().optional().describe('Goes on after this record; as a header, or in the query');

/** Filters of the records of one run. */
const OfRun = {
  level: LogLevelName.optional().describe('That level and above'),
  step: z.string().optional().describe('Name of the step or tool'),
  text: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('A text that the message or the fields contain, in any case of its letters'),
  from: time.optional().describe('Then or later'),
  to: time.optional().describe('Before then'),
};

/** Filters of all records. */
const OfAll = {
  ...OfRun,
  run: z.uuid().optional().describe('Id of the run'),
  session: z.uuid().optional().describe('Id of the session'),
  name: z.string().optional().describe('Name of the agent or workflow'),
  client: z.string().optional().describe('The application that had the run started, and those of its users'),
  user: z.string().optional().describe('What a client calls its user'),
};

const reads = { kind: 'read', permission: 'logs:read' } as const;
const streams = {
  copilot: 'no: stream',
  answer: 'sse',
  headers: { 'last-event-id': 'lastEventId' },
  output: z.unknown(),
} as const;

export const listRunLogs = operation({
  ...reads,
  id: 'runs.logs',
  summary: 'List the log records of a run, newest first',
  route: 'GET /api/runs/:id/logs',
  tag: 'runs',
  copilot: 'yes',
  errors: ['run_not_found', 'invalid_cursor'],
  input: z.strictObject({ id: runId, ...OfRun, ...Page }),
  output: LogPage,
  async handle(rooms, { id, limit, cursor, ...filter }, { caller }) {
    await requireRun(rooms, id);
    return rooms.logs.list({ ...toFilter(filter, caller), runId: id }, withoutUndefined({ limit, cursor }));
  },
});

export const streamRunLogs = operation({
  ...reads,
  ...streams,
  id: 'runs.logs_stream',
  summary: 'Stream the log records of a run as server-sent events, from the first one until the run is over',
  route: 'GET /api/runs/:id/logs/stream',
  tag: 'runs',
  cli: 'logs tail --run',
  errors: ['run_not_found', 'too_many_streams'],
  input: z.strictObject({ id: runId, ...OfRun, lastEventId }),
  async handle(rooms, { id, lastEventId: last, ...filter }, { caller, signal }) {
    await requireRun(rooms, id);
    const request = withoutUndefined({ caller, signal, lastEventId: last, fromStart: true });
    return rooms.logs.follow({ ...toFilter(filter, caller), runId: id }, request);
  },
});

export const searchLogs = operation({
  ...reads,
  id: 'logs.search',
  summary: 'Search the stored log records by level, run, session, name, step, text and time, newest first',
  route: 'GET /api/logs',
  tag: 'logs',
  copilot: 'yes',
  cli: 'logs list',
  errors: ['invalid_cursor'],
  input: z.strictObject({ ...OfAll, ...Page }),
  output: LogPage,
  handle: ({ logs }, { limit, cursor, ...filter }, { caller }) =>
    logs.list(toFilter(filter, caller), withoutUndefined({ limit, cursor })),
});

export const tailLogs = operation({
  ...reads,
  ...streams,
  id: 'logs.tail',
  summary: 'Stream log records as they are stored, as server-sent events; those of one run until it is over',
  route: 'GET /api/logs/tail',
  tag: 'logs',
  cli: 'logs tail',
  errors: ['too_many_streams'],
  input: z.strictObject({ ...OfAll, lastEventId }),
  handle: ({ logs }, { lastEventId: last, ...filter }, { caller, signal }) =>
    logs.follow(toFilter(filter, caller), withoutUndefined({ caller, signal, lastEventId: last })),
});

// --- internal ---

type Filter = { [K in keyof typeof OfAll]?: z.output<(typeof OfAll)[K]> };

/** What the caller may not see is not there. */
async function requireRun({ runs }: { runs: Runs }, id: string): Promise<void> {
  if (!(await runs.find(id))) throw runNotFound(id);
}

function toFilter({ run, session, from, to, ...same }: Filter, caller: Caller): LogFilter {
  const times = {
    from: from === undefined ? undefined : new Date(from),
    to: to === undefined ? undefined : new Date(to),
  };
  return withoutUndefined({ ...same, runId: run, sessionId: session, ...times, hidden: hiddenFrom(caller) });
}
