import { and, eq, sql } from 'drizzle-orm';
import type { SQL } from 'drizzle-orm';
import type { Recalled, Rememberer } from '../agents/turn/memory.ts';
import { enableVector, rowsOf } from '../rag/chunk-table.ts';
import type { OnCut } from '../sessions/keep-turn.ts';
import { sessionMessages, sessions } from '../sessions/table.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { MemoryFilter, MemoryStore, RememberedRow } from './store.ts';
import { memoryPieces, memoryTurns } from './table.ts';

/** @param most pieces that one agent remembers of one user */
export function createMemoryStore(db: Drizzle, most: number): MemoryStore {
  let isEnabled = false;
  return {
    add: (of, runId, pieces) =>
      db.transaction(async (tx) => {
        const [session] = await tx
          .select({ owner: sessions.owner })
          .from(sessions)
          .where(and(eq(sessions.id, of.sessionId), isOfUser(of), hasTurn(runId)))
          .for('update');
        if (!session) return false;
        const { agent, sessionId, client, userId } = of;
        const [added] = await tx
          .insert(memoryTurns)
          .values({ runId, sessionId, agent, owner: session.owner, client, userId })
          .onConflictDoNothing()
          .returning({ runId: memoryTurns.runId });
        if (!added) return true;
        await tx.insert(memoryPieces).values(pieces.map((text, n) => ({ runId, n, text })));
        // The oldest go, so that a search of one user never has more to look at.
        await tx.execute(sql`delete from ${memoryTurns} where run_id in (
          select run_id from (
            select t.run_id, sum(count(*)) over (order by t.created_at desc, t.run_id desc) as pieces
            from ${memoryTurns} t join ${memoryPieces} p on p.run_id = t.run_id
            where t.agent = ${agent} and t.owner = ${session.owner}
            group by t.run_id) as newest
          where pieces > ${most})`);
        return true;
      }),
    async hasAny(of, model) {
      const found = await rowsOf(db, sql`select 1 as one ${toFound(of, model)} limit 1`);
      return found.length > 0;
    },
    async nearest(of, { model, vector, limit }) {
      if (!isEnabled) await enableVector(db);
      isEnabled = true;
      const asked = sql`${`[${vector.join()}]`}::vector`;
      // `offset 0`: each vector is read once, and that is most of the time.
      const rows = await rowsOf<NearRow>(
        db,
        sql`select "runId", n, "sessionId", at, 1 - distance as score, text from (
            select t.run_id as "runId", p.n, t.session_id as "sessionId", ${isoOf(sql`t.created_at`)} as at, p.text,
              t.created_at, p.embedding::vector <=> ${asked} as distance
            ${toFound(of, model)} and t.dimension = ${vector.length} offset 0) as found
          order by distance, created_at desc, n limit ${limit}`,
      );
      return rows.map((row) => ({ ...row, score: Number(row.score) })).filter(({ score }) => !Number.isNaN(score));
    },
    async read(of, pieces) {
      const wanted = JSON.stringify(pieces.map(({ runId, n }) => ({ run_id: runId, n })));
      return rowsOf(
        db,
        sql`select p.run_id as "runId", p.n, p.text
          from jsonb_to_recordset(${wanted}::jsonb) as w (run_id uuid, n integer)
          join ${memoryPieces} p on p.run_id = w.run_id and p.n = w.n
          join ${memoryTurns} t on t.run_id = p.run_id
          where ${isRemembered(of)}`,
      );
    },
    async list(filter, { after, limit }) {
      const behind = after && sql`(t.created_at, t.run_id) < (${after[0]}::timestamptz, ${after[1]}::uuid)`;
      const where = and(toCondition(filter), behind) ?? sql`true`;
      const rows = await rowsOf<Omit<RememberedRow, 'createdAt'> & { createdAt: string | Date; at: string }>(
        db,
        sql`select t.run_id as "runId", t.session_id as "sessionId", t.agent, t.client, t.user_id as "userId", t.state, t.error,
            t.created_at as "createdAt", t.created_at::text as at,
            coalesce((select json_agg(p.text order by p.n) from ${memoryPieces} p where p.run_id = t.run_id), '[]'::json) as pieces
          from ${memoryTurns} t where ${where}
          order by t.created_at desc, t.run_id desc limit ${limit}`,
      );
      return rows.map((row) => ({ ...row, createdAt: new Date(row.createdAt) }));
    },
    async clear(filter) {
      const rows = await rowsOf(db, sql`delete from ${memoryTurns} t where ${toCondition(filter)} returning t.run_id`);
      return rows.length;
    },
  };
}

/**
 * Forgets the turns of a session of which not every message stays. A turn that loses its answer alone is forgotten whole:
 * its pieces are of both.
 */
export const forgetCut: OnCut = async (tx, { sessionId, keptUpTo }) => {
  await tx.execute(sql`delete from ${memoryTurns} where session_id = ${sessionId} and run_id not in (
    select run_id from ${sessionMessages} where session_id = ${sessionId} group by run_id having max(n) <= ${keptUpTo})`);
};

// --- internal ---

type NearRow = Recalled & { text: string };

function isOfUser({ client, userId }: Rememberer): SQL | undefined {
  return and(eq(sessions.userId, userId), sql`${sessions.client} is not distinct from ${client}`);
}

/** Another turn may have cut it away since it was added. */
function hasTurn(runId: string): SQL {
  return sql`exists (select 1 from ${sessionMessages} m where m.session_id = ${sessions.id} and m.run_id = ${runId})`;
}

/** What of other sessions the user of this one may be reminded of. */
function isRemembered({ agent, sessionId, client, userId }: Rememberer): SQL {
  return sql`t.agent = ${agent} and t.session_id <> ${sessionId} and t.owner = (
    select s.owner from ${sessions} s
    where s.id = ${sessionId} and s.user_id = ${userId} and s.client is not distinct from ${client})`;
}

function toFound(of: Rememberer, model: string): SQL {
  return sql`from ${memoryTurns} t join ${memoryPieces} p on p.run_id = t.run_id
    where ${isRemembered(of)} and t.state = 'ready' and t.model = ${model} and p.embedding is not null`;
}

function toCondition({ agent, client, user }: MemoryFilter): SQL | undefined {
  return and(
    agent === undefined ? undefined : sql`t.agent = ${agent}`,
    client === undefined ? undefined : sql`t.client = ${client}`,
    user === undefined ? undefined : sql`t.user_id = ${user}`,
  );
}

function isoOf(time: SQL): SQL {
  return sql`to_char(${time} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
}
