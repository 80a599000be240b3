import { sql } from 'drizzle-orm';
import type { ConversationMessage, KeptSummary } from '../agents/turn/input.ts';
import { createGroupCommit } from '../engine/group-commit.ts';
import { createLru } from '../lru.ts';
import { prepare } from '../stores/drizzle.ts';
import type { Drizzle, Prepared } from '../stores/drizzle.ts';
import type { AgentState } from '../tools/state.ts';
import { sessionMessages, sessions } from './table.ts';

/**
 * Reads sessions, in one statement those that are read together and were small when this process read them last. What fails
 * for all of them, each meets alone.
 */
export interface SessionReader {
  /** `beforeRun`: without what that run has added. Undefined: the session is not there. */
  read(sessionId: string, beforeRun: string | null): Promise<KeptSession | undefined>;
}

export interface KeptSession {
  state: AgentState;
  summary: KeptSummary | null;
  messages: ConversationMessage[];
}

/** How long a statement that is shared may take, in milliseconds: what comes next waits for it, also if the network has lost it. */
export const SHARED_MS = 5_000;

export function createSessionReader(db: Drizzle): SessionReader {
  const small = createLru<true>(MOST_SMALL);
  const together = createGroupCommit<Asked, Row | undefined>((asked) => readAll(READ_TOGETHER, db, asked), {
    maxEntries: MOST_TOGETHER,
    keyOf: ({ id }) => id,
  });
  return {
    async read(sessionId, beforeRun) {
      const asked = { id: sessionId, before: beforeRun };
      const readAlone = async (): Promise<Row | undefined> => (await readAll(READ, db, [asked]))[0];
      const row = await (small.has(sessionId) ? together.add(asked).catch(readAlone) : readAlone());
      if (!row) return undefined;
      // What is large would keep those waiting that are read with it.
      if (row.messages.length + row.state.length > MOST_CHARACTERS) small.delete(sessionId);
      else small.set(sessionId, true);
      const { summary } = row;
      return { state: parse<AgentState>(row.state), summary, messages: parse<ConversationMessage[]>(row.messages) };
    },
  };
}

// --- internal ---

const MOST_SMALL = 10_000;
const MOST_CHARACTERS = 64 * 1024;
const MOST_TOGETHER = 64;

interface Asked {
  id: string;
  before: string | null;
}

/** JSON, so that it is known how large it is. */
interface Row {
  state: string;
  summary: KeptSummary | null;
  messages: string;
}

type FoundRow = Row & { id: string };

function parse<T>(json: string): T {
  return JSON.parse(json) as T;
}

async function readAll(read: Prepared<FoundRow>, db: Drizzle, asked: Asked[]): Promise<(Row | undefined)[]> {
  const rows = await read(db, { asked: JSON.stringify(asked) });
  const found = new Map(rows.map(({ id, ...row }) => [id, row]));
  return asked.map(({ id }) => found.get(id));
}

/** Row by row, whatever the planner takes a list to be: a join of it might read all sessions there are. */
const STATEMENT = sql`
  select found.* from jsonb_to_recordset(${sql.placeholder('asked')}::jsonb) as asked (id uuid, before uuid), lateral (
    select s.id, s.state::text, s.summary, coalesce((
      select jsonb_agg(m.message order by m.n) from ${sessionMessages} m
      where m.session_id = s.id and m.run_id is distinct from asked.before), '[]')::text as messages
    from ${sessions} s where s.id = asked.id offset 0) as found`;
const READ = prepare<FoundRow>(STATEMENT);
const READ_TOGETHER = prepare<FoundRow>(STATEMENT, { timeoutMs: SHARED_MS });
