import { and, asc, desc, eq, gt, inArray, isNull, lt, or, sql } from 'drizzle-orm';
import type { SQL } from 'drizzle-orm';
import type { TurnFiles } from '../agents/files/turn-files.ts';
import { turnNotEnded } from '../agents/events/turn-errors.ts';
import { listWaitingBelow } from '../agents/reading/runs-below.ts';
import { findUnended } from '../agents/threads/open-turns.ts';
import type { Approval } from '../approvals/approval.ts';
import type { Approvals } from '../approvals/approvals.ts';
import type { Hidden } from '../auth/visibility.ts';
import type { Journal } from '../engine/journal.ts';
import { BoxError, invalidCursor } from '../errors.ts';
import { isTimePlace, parseCursor, parseIdCursor, toCursor, toIdCursor } from '../operations/cursor.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { sessionMessages, sessions, sessionTurns } from './table.ts';
import { messagesOfRun } from './run-messages.ts';
import { toKept, toSessionMessage, toShownOwner } from './session.ts';
import type { Session, SessionDetail, SessionTurn } from './session.ts';
import { toAmount } from '../limits/prices.ts';

export interface SessionPage<T> {
  items: T[];
  /** Pass it as `cursor` for the next page; null: there is none. */
  nextCursor: string | null;
}

interface PageOf {
  limit: number;
  cursor?: string;
}

export interface SessionFilter {
  agent?: string;
  client?: string;
  user?: string;
}

/** The conversations as people look at them. `id` is that of the session, or with `agent` what the client calls it. */
export interface SessionHistory {
  /** The last active first. Throws `invalid_cursor`. */
  list(filter: SessionFilter, page: PageOf): Promise<SessionPage<Session>>;
  /** Throws `session_not_found`, as all of them do. */
  get(id: string, agent?: string): Promise<SessionDetail>;
  /** The finished turns with their messages, the first one first. */
  turns(id: string, agent: string | undefined, page: PageOf): Promise<SessionPage<SessionTurn>>;
  /** Deletes it with its turns, and the runs behind them. Throws `turn_in_progress` while one has not ended. */
  remove(id: string, agent?: string): Promise<Session>;
  /** The id of a session that is there. */
  idOf(id: string, agent?: string): Promise<string>;
  /** Sessions nothing has happened to for so many days; the longest first. `after`: the last one of the page before. */
  listIdle(days: number, page: { limit: number; after?: IdleSession }): Promise<IdleSession[]>;
  /** The same without what is hidden: such a session is none. */
  without(hidden: Hidden): SessionHistory;
  /** The same for a model to read: without the texts that guardrails hold. */
  forModel(): SessionHistory;
}

export interface IdleSession {
  id: string;
  lastActiveAt: string;
}

export interface SessionHistoryOptions {
  db: Drizzle;
  journal: Pick<Journal, 'listRuns' | 'getRun' | 'spentOf'>;
  /** With what hangs on it. False: it is not final. */
  deleteRun(runId: string): Promise<boolean>;
  approvals: Pick<Approvals, 'list' | 'forModel'>;
  files: Pick<TurnFiles, 'show' | 'drop'>;
  /** Called with a session that was deleted. */
  onRemove?(sessionId: string, askedBy?: string): void;
  hidden?: Hidden;
  /** A model reads it: files, which may be a megabyte, are named alone. Default false. */
  isForModel?: boolean;
}

export function createSessionHistory(options: SessionHistoryOptions): SessionHistory {
  const { db, journal, approvals, files, hidden, isForModel = false } = options;
  const isShown = hidden && or(isNull(sessions.askedBy), eq(sessions.askedBy, hidden.unless));

  const find = async (id: string, agent?: string): Promise<SessionRow> => {
    const byName = agent === undefined ? undefined : and(eq(sessions.agent, agent), eq(sessions.name, id));
    const byId = UUID.test(id) ? eq(sessions.id, id.toLowerCase()) : undefined;
    const rows =
      byName || byId
        ? await db
            .select()
            .from(sessions)
            .where(and(or(byName, byId), isShown))
            // A client may call its session by what is the id of another: with an agent, the name counts. Of the owners
            // that have one of the name, the one that was active last is meant.
            .orderBy(desc(sql`${sessions.name} = ${id}`), desc(sessions.lastActiveAt), desc(sessions.id))
            .limit(2)
        : [];
    const row = rows.find((one) => agent === undefined || one.agent === agent);
    if (row) return row;
    throw new BoxError(
      'session_not_found',
      `There is no session "${id}". Give its id, or what the client calls it with "?agent=".`,
    );
  };
  /** Of the turn, else of the first of its sub-agents that waits for a person. */
  const listPending = async (runId: string): Promise<Approval[]> => {
    for await (const id of listWaitingBelow(journal, runId)) {
      const { items } = await approvals.list({ status: 'pending', runId: id }, { limit: MOST_PENDING });
      if (items.length > 0) return items;
    }
    return [];
  };
  const removeRuns = async (sessionId: string): Promise<void> => {
    for (;;) {
      const runs = await journal.listRuns({ sessionId }, { limit: BATCH });
      for (const run of runs) if (!(await options.deleteRun(run.runId))) throw turnNotEnded(run);
      if (runs.length < BATCH) return;
    }
  };

  return {
    list: (filter, page) => listSessions(db, and(toCondition(filter), isShown), page),
    async get(id, agent) {
      const row = await find(id, agent);
      const open = await findUnended(journal, row.id);
      const pendingApprovals = open ? await listPending(open.runId) : [];
      return {
        ...toSession(row),
        ...(row.cost === null ? {} : { cost: toAmount(row.cost) }),
        kept: toKept(row.state, { withTexts: !isForModel }),
        openTurn: open ? { runId: open.runId, status: open.status } : null,
        pendingApproval: pendingApprovals[0] ?? null,
        pendingApprovals,
        summary: row.summary && { text: row.summary.text, upTo: row.summary.upTo },
      };
    },
    async turns(id, agent, { limit, cursor }) {
      const { id: sessionId } = await find(id, agent);
      const later = cursor === undefined ? undefined : gt(sessionTurns.runId, parseRunCursor(cursor));
      const rows = await db
        .select()
        .from(sessionTurns)
        .where(and(eq(sessionTurns.sessionId, sessionId), later))
        .orderBy(asc(sessionTurns.runId))
        .limit(limit + 1);
      const shown = rows.slice(0, limit);
      const ids = shown.map(({ runId }) => runId);
      const [kept, used] = await Promise.all([keptMessages(db, sessionId, ids), journal.spentOf(ids)]);
      const spent = new Map(used.map((one) => [one.runId, one]));
      const others = await runMessages(
        journal,
        ids.filter((runId) => !kept.has(runId)),
      );
      const messages = new Map([...kept, ...others]);
      const items = shown.map(async ({ runId, totalTokens, endedAt }) => ({
        runId,
        totalTokens,
        ...toUsed(spent.get(runId)),
        endedAt: endedAt.toISOString(),
        messages: (await files.show(sessionId, messages.get(runId) ?? [])).map(toSessionMessage),
      }));
      return { items: await Promise.all(items), nextCursor: rows.length > limit ? toIdCursor(ids.at(-1) ?? '') : null };
    },
    async remove(id, agent) {
      const row = await find(id, agent);
      const open = await findUnended(journal, row.id);
      if (open) throw turnNotEnded(open);
      // A crash in between leaves the session, to be deleted again.
      await removeRuns(row.id);
      // Before the session: one of the same name that begins once it is gone keeps what it puts there.
      await files.drop(row.id);
      await db.delete(sessions).where(eq(sessions.id, row.id));
      options.onRemove?.(row.id, row.askedBy ?? undefined);
      return toSession(row);
    },
    idOf: async (id, agent) => (await find(id, agent)).id,
    async listIdle(days, { limit, after: last }) {
      const isBehind =
        last && sql`(${sessions.lastActiveAt}, ${sessions.id}) > (${last.lastActiveAt}::timestamptz, ${last.id}::uuid)`;
      return db
        .select({ id: sessions.id, lastActiveAt: sql<string>`${sessions.lastActiveAt}::text` })
        .from(sessions)
        .where(and(lt(sessions.lastActiveAt, sql`now() - ${days}::float8 * interval '1 day'`), isBehind))
        .orderBy(asc(sessions.lastActiveAt), asc(sessions.id))
        .limit(limit);
    },
    without: (more) => createSessionHistory({ ...options, hidden: more }),
    forModel: () => createSessionHistory({ ...options, isForModel: true, approvals: approvals.forModel() }),
  };
}

// --- internal ---

/** Calls of one reply that wait for a person together. */
const MOST_PENDING = 200;

type SessionRow = typeof sessions.$inferSelect;
type Messages = Awaited<ReturnType<typeof messagesOfRun>>;

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;
const BATCH = 100;

/** Of a turn whose run is there. */
function toUsed(spent: Awaited<ReturnType<Journal['spentOf']>>[number] | undefined) {
  const { inputTokens = null, outputTokens = null, cost } = spent ?? {};
  return { inputTokens, outputTokens, ...(cost === undefined ? {} : { cost: toAmount(cost) }) };
}

async function listSessions(
  db: Drizzle,
  condition: SQL | undefined,
  { limit, cursor }: PageOf,
): Promise<SessionPage<Session>> {
  const rows = await db
    .select({ row: sessions, at: sql<string>`${sessions.lastActiveAt}::text` })
    .from(sessions)
    .where(and(condition, after(cursor)))
    .orderBy(desc(sessions.lastActiveAt), desc(sessions.id))
    .limit(limit + 1);
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  return {
    items: shown.map(({ row }) => toSession(row)),
    // `at` as the database writes it: a Date has no microseconds, and would skip what happened within one.
    nextCursor: last ? toCursor(last.at, last.row.id) : null,
  };
}

function toCondition({ agent, client, user }: SessionFilter): SQL | undefined {
  return and(
    agent === undefined ? undefined : eq(sessions.agent, agent),
    client === undefined ? undefined : eq(sessions.client, client),
    user === undefined ? undefined : eq(sessions.userId, user),
  );
}

async function keptMessages(db: Drizzle, sessionId: string, runIds: string[]): Promise<Map<string, Messages>> {
  if (runIds.length === 0) return new Map();
  const rows = await db
    .select({ runId: sessionMessages.runId, message: sessionMessages.message })
    .from(sessionMessages)
    .where(and(eq(sessionMessages.sessionId, sessionId), inArray(sessionMessages.runId, runIds)))
    .orderBy(asc(sessionMessages.n));
  const byRun = new Map<string, Messages>();
  for (const { runId, message } of rows) byRun.set(runId, [...(byRun.get(runId) ?? []), message]);
  return byRun;
}

async function runMessages(journal: Pick<Journal, 'getRun'>, runIds: string[]): Promise<Map<string, Messages>> {
  const all = runIds.map(async (runId): Promise<[string, Messages]> => {
    const run = await journal.getRun(runId);
    return [runId, run ? messagesOfRun(run) : []];
  });
  return new Map(await Promise.all(all));
}

function toSession(row: SessionRow): Session {
  const { id, createdAt, lastActiveAt, owner, client, userId } = row;
  const { agent, name, kind, turns, inputTokens, outputTokens, totalTokens } = row;
  return {
    sessionId: id,
    agent,
    name,
    kind,
    owner: toShownOwner({ id: owner, client, userId }),
    turns,
    inputTokens,
    outputTokens,
    totalTokens,
    createdAt: createdAt.toISOString(),
    lastActiveAt: lastActiveAt.toISOString(),
  };
}

function after(cursor: string | undefined) {
  if (cursor === undefined) return undefined;
  const [at, id] = parseCursor(cursor, isTimePlace);
  return sql`(${sessions.lastActiveAt}, ${sessions.id}) < (${at}::timestamptz, ${id}::uuid)`;
}

function parseRunCursor(cursor: string): string {
  const id = parseIdCursor(cursor);
  if (!UUID.test(id)) throw invalidCursor(cursor);
  return id;
}
