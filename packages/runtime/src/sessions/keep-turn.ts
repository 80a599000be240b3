import { and, eq, gt, sql } from 'drizzle-orm';
import type { SQL } from 'drizzle-orm';
import type { ConversationSummary, KeptSummary } from '../agents/turn/input.ts';
import type { TurnToKeep } from '../agents/turn/session-store.ts';
import { toStorable } from '../agents/turn/storable.ts';
import { createGroupCommit } from '../engine/group-commit.ts';
import { prepare } from '../stores/drizzle.ts';
import type { Drizzle, Prepared } from '../stores/drizzle.ts';
import { SHARED_MS } from './read-sessions.ts';
import { sessionMessages, sessions, sessionTurns } from './table.ts';

/**
 * Part of a session is being cut away: what else is kept of it goes in the same transaction, or nothing does.
 * @param keptUpTo the place of the last message that stays. -1: none does
 */
export type OnCut = (tx: Pick<Drizzle, 'execute'>, cut: { sessionId: string; keptUpTo: number }) => Promise<void>;

/** Adds turns, each to its session, once, in one statement for those that end together. What fails for all, each meets alone. */
export interface TurnKeeper {
  /** Whose the session is. Undefined: it is not there. */
  keep(turn: TurnToKeep): Promise<{ askedBy: string | null } | undefined>;
}

/** Turns that are large, have a new summary, are of a conversation or go back to a message have a statement each. */
export function createTurnKeeper(db: Drizzle, onCut: OnCut): TurnKeeper {
  const together = createGroupCommit<OneTurn, KeptRow | undefined>((turns) => keepTogether(db, turns), {
    maxEntries: MOST_TOGETHER,
    maxBytes: MOST_CHARACTERS,
    sizeOf: ({ row }) => row.length,
    keyOf: ({ turn: { sessionId } }) => sessionId,
  });
  const keepShared = async (turn: TurnToKeep): Promise<KeptRow | undefined> => {
    const row = toRow(turn);
    if (row.length > MOST_CHARACTERS) return undefined;
    // Whether or not what fails has been committed: a turn is added once.
    return together.add({ turn, row }).catch(() => undefined);
  };
  return {
    async keep(turn) {
      const isPlain = turn.kind === 'session' && !turn.summary && turn.cutAfter === undefined;
      const kept = isPlain ? await keepShared(turn) : undefined;
      return kept ? { askedBy: kept.asked_by } : keepTurn(db, turn, onCut);
    },
  };
}

export function withoutTurn({ text, upTo }: KeptSummary): ConversationSummary {
  return { text, upTo };
}

// --- internal ---

type KeptRow = { asked_by: string | null };

const TRIES = 5;

/** So many share a statement, with so many characters. */
const MOST_TOGETHER = 64;
const MOST_CHARACTERS = 1024 * 1024;

interface OneTurn {
  turn: TurnToKeep;
  /** What the statement is given of it, as JSON. */
  row: string;
}

/**
 * Turns of different sessions. Undefined: nothing was added, since the session is locked or not there: the statement waits for
 * no lock of a session, as those that share it would wait, too.
 */
async function keepTogether(db: Drizzle, turns: OneTurn[]): Promise<(KeptRow | undefined)[]> {
  const rows = await KEEP_TOGETHER(db, { turns: `[${turns.map(({ row }) => row).join(',')}]` });
  const kept = new Map(rows.map((row) => [row.id, row]));
  return turns.map(({ turn }) => kept.get(turn.sessionId));
}

function toRow(turn: TurnToKeep): string {
  const { sessionId, runId, usage, cost } = turn;
  const { messages, state } = toStorable(turn);
  const { inputTokens: input, outputTokens: output } = usage;
  return JSON.stringify({ session: sessionId, run: runId, input, output, cost, messages, state });
}

const KEEP_TOGETHER = prepare<KeptRow & { id: string }>(
  sql`
  with given as materialized (
    select * from jsonb_to_recordset(${sql.placeholder('turns')}::jsonb) as one
      (session uuid, run uuid, input bigint, output bigint, cost float8, messages jsonb, state jsonb)),
  there as materialized (
    select id, asked_by from ${sessions} where id = any(array(select session from given)) order by id for update skip locked),
  fresh as (
    insert into ${sessionTurns} (run_id, session_id, total_tokens)
    select run, id, input + output from given, there where id = session on conflict do nothing returning session_id),
  added as (
    insert into ${sessionMessages} (session_id, n, id, run_id, message)
    select session, (select coalesce(max(n), -1) from ${sessionMessages} where session_id = session) + one.place,
      one.message->>'id', run, one.message
    from given, fresh, jsonb_array_elements(messages) with ordinality as one (message, place)
    where session_id = session
    on conflict (session_id, id) do nothing),
  changed as (
    update ${sessions} s set turns = s.turns + 1, input_tokens = s.input_tokens + given.input,
      output_tokens = s.output_tokens + given.output, total_tokens = s.total_tokens + given.input + given.output,
      cost = coalesce(s.cost + given.cost, s.cost, given.cost), last_active_at = now(), kind = 'session', state = given.state
    from given, fresh where fresh.session_id = session and s.id = session)
  select id, asked_by from there`,
  { timeoutMs: SHARED_MS },
);

/**
 * Adds a turn to its session, once. Answers whose the session is; undefined: it is not there.
 *
 * One statement, unless the turn goes back to a message first: what it reads it has locked, and of two that add to one
 * session at once, which only a turn that has lost its session does, one finds its place taken and looks again.
 */
async function keepTurn(db: Drizzle, turn: TurnToKeep, onCut: OnCut): Promise<{ askedBy: string | null } | undefined> {
  const { shape, values } = toValues(turn);
  for (let tries = TRIES; ; tries--) {
    try {
      const [kept] = await (turn.cutAfter === undefined
        ? KEEP[shape](db, values)
        : db.transaction(async (tx) => {
            await goBack(tx, turn, onCut);
            return tx.execute<KeptRow>(toStatement(shape, (name) => values[name]));
          }));
      return kept && { askedBy: kept.asked_by };
    } catch (error) {
      if (tries === 0 || !isOvertaken(error)) throw error;
    }
  }
}

/** What is kept: a session's messages, those with a new summary, or of a conversation the sums alone. */
type Shape = 'session' | 'summarised' | 'conversation';

/** `given`: what stands for each value: the value, or its placeholder. */
function toStatement(shape: Shape, given: (name: string) => unknown): SQL {
  const json = (name: string): SQL => sql`${given(name)}::jsonb`;
  const kept = shape === 'conversation' ? sql`` : sql`, kind = 'session', state = ${json('state')}`;
  const before = sql`case when s.summary is not null then jsonb_build_object('text', s.summary->'text', 'upTo', s.summary->'upTo') end`;
  const summed =
    shape === 'summarised' ? sql`, summary = ${json('summary')} || jsonb_build_object('before', ${before})` : sql``;
  return sql`
    with there as materialized (select id, asked_by from ${sessions} where id = ${given('sessionId')}::uuid for update),
    fresh as (
      insert into ${sessionTurns} (run_id, session_id, total_tokens)
      select ${given('runId')}::uuid, id, ${given('totalTokens')}::bigint from there on conflict do nothing returning session_id),
    added as (
      insert into ${sessionMessages} (session_id, n, id, run_id, message)
      select session_id, (select coalesce(max(n), -1) from ${sessionMessages} where session_id = ${given('sessionId')}::uuid) + one.place,
        one.message->>'id', ${given('runId')}::uuid, one.message
      from fresh, jsonb_array_elements(${json('messages')}) with ordinality as one (message, place)
      on conflict (session_id, id) do nothing),
    changed as (
      update ${sessions} s set turns = s.turns + 1, input_tokens = s.input_tokens + ${given('inputTokens')}::bigint,
        output_tokens = s.output_tokens + ${given('outputTokens')}::bigint, total_tokens = s.total_tokens + ${given('totalTokens')}::bigint,
        cost = coalesce(s.cost + ${given('cost')}::float8, s.cost, ${given('cost')}::float8), last_active_at = now() ${kept} ${summed}
      from fresh where s.id = fresh.session_id)
    select asked_by from there`;
}

const prepareFor = (shape: Shape) => prepare<KeptRow>(toStatement(shape, (name) => sql.placeholder(name)));
const KEEP: Readonly<Record<Shape, Prepared<KeptRow>>> = {
  session: prepareFor('session'),
  summarised: prepareFor('summarised'),
  conversation: prepareFor('conversation'),
};

function toValues({ sessionId, runId, kind, usage, cost, ...turn }: TurnToKeep): {
  shape: Shape;
  values: Record<string, unknown>;
} {
  const { messages, state, summary } = toStorable(turn);
  const { inputTokens, outputTokens } = usage;
  const totalTokens = inputTokens + outputTokens;
  const shape = kind === 'conversation' ? kind : summary ? 'summarised' : kind;
  const values = {
    sessionId,
    runId,
    inputTokens,
    outputTokens,
    totalTokens,
    cost: cost ?? null,
    messages: JSON.stringify(messages),
    state: JSON.stringify(state),
    summary: JSON.stringify({ ...summary, runId }),
  };
  return { shape, values };
}

type Tx = Pick<Drizzle, 'select' | 'delete' | 'execute'>;

/** Forgets what comes after the message, or everything, unless the turn has been added. */
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
  const { code } = ((error as Error).cause ?? error) as { code?: unknown };
  return code === UNIQUE_VIOLATION || code === DEADLOCK;
}

const UNIQUE_VIOLATION = '23505';
const DEADLOCK = '40P01';
