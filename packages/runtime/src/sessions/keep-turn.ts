import { and, eq, gt, sql } from 'drizzle-orm';
import type { SQL } from 'drizzle-orm';
import type { ConversationSummary, KeptSummary } from '../agents/turn/input.ts';
import type { TurnToKeep } from '../agents/turn/session-store.ts';
import { toStorable } from '../agents/turn/storable.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { sessionMessages, sessions, sessionTurns } from './table.ts';

/**
 * Part of a session is being cut away: what else is kept of it goes in the same transaction, or nothing does.
 * @param keptUpTo the place of the last message that stays. -1: none does
 */
export type OnCut = (tx: Pick<Drizzle, 'execute'>, cut: { sessionId: string; keptUpTo: number }) => Promise<void>;

/**
 * Adds a turn to its session, once. Answers whose the session is; undefined: it is not there.
 *
 * One statement, unless the turn goes back to a message first: what it reads it has locked, and of two that add to one
 * session at once, which only a turn that has lost its session does, one finds its place taken and looks again.
 */
export async function keepTurn(
  db: Drizzle,
  turn: TurnToKeep,
  onCut: OnCut,
): Promise<{ askedBy: string | null } | undefined> {
  const statement = toStatement(turn);
  for (let tries = TRIES; ; tries--) {
    try {
      const [kept] = await (turn.cutAfter === undefined
        ? db.execute<KeptRow>(statement)
        : db.transaction(async (tx) => {
            await goBack(tx, turn, onCut);
            return tx.execute<KeptRow>(statement);
          }));
      return kept && { askedBy: kept.asked_by };
    } catch (error) {
      if (tries === 0 || !isOvertaken(error)) throw error;
    }
  }
}

export function withoutTurn({ text, upTo }: KeptSummary): ConversationSummary {
  return { text, upTo };
}

// --- internal ---

type KeptRow = { asked_by: string | null };

const TRIES = 5;

function toStatement({ sessionId, runId, kind, usage, cost, ...turn }: TurnToKeep): SQL {
  const { messages, state, summary } = toStorable(turn);
  const totalTokens = usage.inputTokens + usage.outputTokens;
  const json = (value: unknown): SQL => sql`${JSON.stringify(value)}::jsonb`;
  const kept = kind === 'session' ? sql`, kind = 'session', state = ${json(state)}` : sql``;
  const before = sql`case when s.summary is not null then jsonb_build_object('text', s.summary->'text', 'upTo', s.summary->'upTo') end`;
  const summed =
    kind === 'session' && summary
      ? sql`, summary = ${json({ ...summary, runId })} || jsonb_build_object('before', ${before})`
      : sql``;
  const ofSession = sql`session_id = ${sessionId}::uuid`;
  const paid = cost === undefined ? sql`` : sql`, cost = coalesce(s.cost, 0) + ${cost}::float8`;
  return sql`
    with there as materialized (select id, asked_by from ${sessions} where id = ${sessionId}::uuid for update),
    fresh as (
      insert into ${sessionTurns} (run_id, session_id, total_tokens)
      select ${runId}::uuid, id, ${totalTokens}::bigint from there on conflict do nothing returning session_id),
    added as (
      insert into ${sessionMessages} (session_id, n, id, run_id, message)
      select session_id, (select coalesce(max(n), -1) from ${sessionMessages} where ${ofSession}) + given.place,
        given.message->>'id', ${runId}::uuid, given.message
      from fresh, jsonb_array_elements(${json(messages)}) with ordinality as given (message, place)
      on conflict (session_id, id) do nothing),
    changed as (
      update ${sessions} s set turns = s.turns + 1, input_tokens = s.input_tokens + ${usage.inputTokens}::bigint,
        output_tokens = s.output_tokens + ${usage.outputTokens}::bigint, total_tokens = s.total_tokens + ${totalTokens}::bigint,
        last_active_at = now() ${paid} ${kept} ${summed}
      from fresh where s.id = fresh.session_id)
    select asked_by from there`;
}

type Tx = Pick<Drizzle, 'select' | 'delete' | 'execute'>;

/** Forgets what stands behind the message, or everything, unless the turn has been added. */
async function goBack(tx: Tx, { sessionId, runId, cutAfter = null }: TurnToKeep, onCut: OnCut): Promise<void> {
  await tx.select({ id: sessions.id }).from(sessions).where(eq(sessions.id, sessionId)).for('update');
  const [added] = await tx
    .select({ runId: sessionTurns.runId })
    .from(sessionTurns)
    .where(eq(sessionTurns.runId, runId));
  if (added) return;
  const [last] = await tx
    .select({ n: sessionMessages.n })
    .from(sessionMessages)
    .where(and(eq(sessionMessages.sessionId, sessionId), eq(sessionMessages.id, cutAfter ?? '')));
  const keptUpTo = cutAfter === null ? -1 : (last?.n ?? -1);
  await onCut(tx, { sessionId, keptUpTo });
  await tx
    .delete(sessionMessages)
    .where(and(eq(sessionMessages.sessionId, sessionId), gt(sessionMessages.n, keptUpTo)));
}

/** By another turn, which took the place since the statement began to look, or by whoever else deletes the same rows. */
function isOvertaken(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && (cause.code === UNIQUE_VIOLATION || cause.code === DEADLOCK);
}

const UNIQUE_VIOLATION = '23505';
const DEADLOCK = '40P01';
