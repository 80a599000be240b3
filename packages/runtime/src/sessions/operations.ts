import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { isGone, Page, withoutUndefined } from '../operations/inputs.ts';
import { ListedRun } from '../runs/run.ts';
import { Session, SessionDetail, SessionTurn } from './session.ts';
import type { Runs } from '../runs/runs.ts';
import type { SessionHistory } from './history.ts';

const operation = operationsOf<{ runs: Runs; sessions: SessionHistory }>();

const room = { tag: 'sessions', permission: 'sessions:read', kind: 'read', copilot: 'yes' } as const;
const One = {
  id: z.string().describe('The session id; with "agent" also what the client calls the session'),
  agent: z.string().optional().describe('The agent whose session it is'),
};
const pageOf = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item), nextCursor: z.string().nullable() });

export const listSessions = operation({
  ...room,
  id: 'sessions.list',
  summary: 'List sessions with agent, turns and token total, the last active first',
  route: 'GET /api/sessions',
  cli: 'sessions list',
  input: z.strictObject({
    agent: One.agent,
    client: z.string().optional().describe('The application whose sessions they are, and those of its users'),
    user: z.string().optional().describe('What a client calls its user'),
    ...Page,
  }),
  output: pageOf(Session),
  handle: ({ sessions }, { agent, client, user, ...page }) =>
    sessions.list(withoutUndefined({ agent, client, user }), withoutUndefined(page)),
});

export const getSession = operation({
  ...room,
  id: 'sessions.get',
  summary: 'Get one session with its token total, its open turn and its pending approval',
  route: 'GET /api/sessions/:id',
  cli: 'sessions get',
  errors: ['session_not_found'],
  input: z.strictObject(One),
  output: SessionDetail,
  handle: ({ sessions }, { id, agent }) => sessions.get(id, agent),
});

export const listSessionTurns = operation({
  ...room,
  id: 'sessions.messages',
  summary: 'List the finished turns of a session with messages, tool calls, reasoning and the run behind each',
  route: 'GET /api/sessions/:id/messages',
  errors: ['session_not_found'],
  input: z.strictObject({ ...One, ...Page }),
  output: pageOf(SessionTurn),
  handle: ({ sessions }, { id, agent, ...page }) => sessions.turns(id, agent, withoutUndefined(page)),
});

export const listSessionRuns = operation({
  ...room,
  id: 'sessions.runs',
  summary: 'List the runs of a session, newest first',
  route: 'GET /api/sessions/:id/runs',
  errors: ['session_not_found'],
  input: z.strictObject({ ...One, ...Page }),
  output: pageOf(ListedRun),
  async handle({ runs, sessions }, { id, agent, ...page }) {
    return runs.list({ sessionId: await sessions.idOf(id, agent) }, withoutUndefined(page));
  },
});

export const deleteSession = operation({
  ...room,
  id: 'sessions.delete',
  summary: 'Delete a session with its turns and their runs',
  route: 'DELETE /api/sessions/:id',
  kind: 'write',
  permission: 'sessions:delete',
  confirm: true,
  cli: 'sessions delete',
  errors: ['session_not_found', 'turn_in_progress'],
  input: z.strictObject(One),
  output: z.object({ sessionId: z.uuid(), deleted: z.literal(true) }),
  settles: { isDone: ({ sessions }, { id, agent }) => isGone('session_not_found', () => sessions.idOf(id, agent)) },
  async handle({ sessions }, { id, agent }) {
    const { sessionId } = await sessions.remove(id, agent);
    return { sessionId, deleted: true as const };
  },
});
