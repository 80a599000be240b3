import { createHash } from 'node:crypto';
import { and, desc, eq, inArray, isNull, sql } from 'drizzle-orm';
import type { ConversationMessage, ConversationSummary, KeptSummary } from '../agents/turn/input.ts';
import { BoxError } from '../errors.ts';
import { createLru } from '../lru.ts';
import { prepare } from '../stores/drizzle.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { createTurnKeeper, withoutTurn } from './keep-turn.ts';
import type { OnCut } from './keep-turn.ts';
import { createSessionReader } from './read-sessions.ts';
import { sessions } from './table.ts';
import type { SessionKind, SessionOwner, SessionPlace, SessionStore } from '../agents/turn/session-store.ts';
import { isStorable } from '../agents/turn/storable.ts';

export interface SessionsOptions {
  /** Called with a session that has a turn more. */
  onChange(sessionId: string, askedBy?: string): void;
  /** Whoever cuts: a turn of the user, of a backend, of an agent that remembers nothing. */
  onCut: OnCut;
}

export function createSessions(db: Drizzle, { onChange, onCut }: SessionsOptions): SessionStore {
  /** What this process has made, or found, last. */
  const known = createLru<NewSession>(MOST_KNOWN);
  const make = async (session: NewSession): Promise<void> => {
    await MAKE(db, { ...session });
    known.set(session.id, session);
  };
  const { read } = createSessionReader(db);
  const { keep } = createTurnKeeper(db, onCut);
  return {
    idOf: sessionIdOf,
    async open({ agent, name, owner, kind, askedBy, isReadNext = false }) {
      if (!isStorable(name))
        throw new BoxError('invalid_request', 'The name of a session holds U+0000, or half of a surrogate pair.');
      const id = sessionIdOf({ agent, name, owner });
      const session = { id, agent, name, kind, ...toColumns(owner), askedBy: askedBy ?? null };
      // Made again, it is of whoever asks now.
      if (isReadNext && known.has(id)) known.set(id, session);
      else await make(session);
      return id;
    },
    async findOwner({ agent, name, owner }, of) {
      const [row] = await db
        .select({ id: sessions.owner, client: sessions.client, userId: sessions.userId })
        .from(sessions)
        .where(and(eq(sessions.agent, agent), eq(sessions.name, name), of ? undefined : isNull(sessions.askedBy)))
        .orderBy(desc(sql`${sessions.owner} = ${owner.id}`), desc(sessions.lastActiveAt), desc(sessions.id))
        .limit(1);
      return row;
    },
    async read(sessionId, cutAfter, beforeRun) {
      const row = await read(sessionId, beforeRun ?? null);
      // Deleted since, here or by another replica.
      const deleted = row || beforeRun === undefined ? undefined : known.get(sessionId);
      if (deleted) await make(deleted);
      const messages = cut(row?.messages ?? [], cutAfter);
      const state = row?.state ?? {};
      const summary = row?.summary ? findSummary(row.summary, beforeRun) : undefined;
      // A summary of what has been cut away stands for nothing.
      return summary && messages.some(({ id }) => id === summary.upTo)
        ? { messages, state, summary }
        : { messages, state };
    },
    async add(turn) {
      const kept = await keep(turn);
      onChange(turn.sessionId, kept?.askedBy ?? undefined);
    },
  };
}

/** Those of the ids that are sessions. */
export async function listKnown(db: Drizzle, ids: readonly string[]): Promise<string[]> {
  const own = ids.filter((id) => UUID.test(id));
  if (own.length === 0) return [];
  const rows = await db.select({ id: sessions.id }).from(sessions).where(inArray(sessions.id, own));
  return rows.map(({ id }) => id);
}

/**
 * A session is found again by agent, name and owner alone, whichever replica and wire asks. One of the box has the id that
 * all had before sessions had owners.
 */
export function sessionIdOf({ agent, name, owner: { id } }: SessionPlace): string {
  const hex = createHash('sha256')
    .update(id === '' ? `${agent}\0${name}` : `${agent}\0${name}\0${id}`)
    .digest('hex');
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

// --- internal ---

const MOST_KNOWN = 10_000;

interface NewSession extends ReturnType<typeof toColumns> {
  id: string;
  agent: string;
  name: string;
  kind: SessionKind;
  askedBy: string | null;
}

const given = sql.placeholder;

const MAKE = prepare(sql`
  insert into ${sessions} (id, agent, name, kind, owner, client, user_id, asked_by)
  values (${given('id')}::uuid, ${given('agent')}, ${given('name')}, ${given('kind')}, ${given('owner')}, ${given('client')},
    ${given('userId')}, ${given('askedBy')})
  on conflict do nothing`);

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/;

function toColumns({ id: owner, client, userId }: SessionOwner): {
  owner: string;
  client: string | null;
  userId: string | null;
} {
  return { owner, client, userId };
}

/** As it was before that turn, should the turn have been saved already. */
function findSummary(kept: KeptSummary, beforeRun: string | undefined): ConversationSummary | undefined {
  const isOfTurn = beforeRun !== undefined && kept.runId === beforeRun;
  return isOfTurn ? (kept.before ?? undefined) : withoutTurn(kept);
}

function cut(messages: ConversationMessage[], cutAfter: string | null | undefined): ConversationMessage[] {
  if (cutAfter === undefined) return messages;
  const last = messages.findIndex(({ id }) => id === cutAfter);
  return messages.slice(0, last + 1);
}
