import { and, desc, eq, gte, isNull, lt, or, sql } from 'drizzle-orm';
import type { SQL } from 'drizzle-orm';
import { z } from 'zod';
import type { Caller } from '../auth/caller.ts';
import { hiddenFrom } from '../auth/visibility.ts';
import { newRunId } from '../engine/ids.ts';
import { BoxError, invalidCursor } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { activity } from './table.ts';

export const ActivitySource = z.enum(['http', 'mcp', 'copilot', 'chat', 'command']);

/** Who made a change. */
export const Actor = z.object({
  id: z.string(),
  name: z.string(),
  role: z.string().nullable(),
  client: z.string().nullable().describe('The application, of a key and of a user'),
  user: z.string().nullable().describe('What the application calls its user'),
  key: z.string().nullable().describe('The id of the key that let it in'),
});

/** One change, as lists show it. */
export const ActivityEntry = z.object({
  id: z.uuid(),
  at: z.iso.datetime(),
  operation: z.string().describe('The id of the operation: `config.set`'),
  actor: Actor,
  source: ActivitySource.describe('The surface it came through; `command`: one in the container'),
  target: z.record(z.string(), z.string()).describe('What the path of the operation names'),
  requestId: z.string().nullable(),
});
export type ActivityEntry = z.infer<typeof ActivityEntry>;

export const ActivityDetail = ActivityEntry.extend({
  before: z
    .unknown()
    .describe('The thing as it was; null where there was none, it is not kept, or the caller may not read it'),
  after: z.unknown().describe('What the operation answered; values that are secret are left out'),
});
export type ActivityDetail = z.infer<typeof ActivityDetail>;

export interface NewActivity {
  operation: string;
  caller: Caller;
  source: z.infer<typeof ActivitySource>;
  target: Record<string, string>;
  requestId?: string | undefined;
  /** Of what not everyone may see. */
  askedBy?: string | undefined;
  before?: unknown;
  after?: unknown;
}

export interface ActivityFilter {
  operation?: string;
  actor?: string;
  client?: string;
  user?: string;
  from?: Date;
  to?: Date;
  /** What the path of the operation named: any of its parameters. */
  target?: string;
}

export interface Activity {
  /** Never fails: the change has been made, and its record must not undo the answer. */
  record(entry: NewActivity): Promise<void>;
  /** Newest first, as the reader may see them. Throws `invalid_cursor`. */
  list(
    filter: ActivityFilter,
    page: { limit: number; cursor?: string },
    reader: Caller,
  ): Promise<{ items: ActivityEntry[]; nextCursor: string | null }>;
  /** Throws `activity_not_found`, also for what the reader may not see. */
  get(id: string, reader: Caller): Promise<ActivityDetail>;
  /** Who asked for the run, the approval or the session of this id, where not everyone may see it. */
  findAsker(id: unknown): Promise<string | undefined>;
}

export interface ActivityOptions {
  db: Drizzle;
  log: Log;
  findAsker(id: string): Promise<string | undefined>;
  /** Whether a caller may read what this operation changes; without that, what was before and after is not shown. */
  mayRead(caller: Caller, operation: string): boolean;
  /** A change was made, written down or not. */
  onRecord?(change: Pick<NewActivity, 'operation' | 'askedBy'>): void;
}

export function createActivity(options: ActivityOptions): Activity {
  const { db, log } = options;
  return {
    async record({ operation, caller, source, target, requestId, askedBy, before, after }) {
      const { client, user, keyId } = caller;
      const actor = {
        actorId: caller.id,
        actorName: caller.name,
        role: caller.role,
        client,
        userId: user?.id ?? null,
        keyId: keyId ?? null,
      };
      const row = {
        id: newRunId(),
        operation,
        ...actor,
        source,
        target,
        requestId: requestId ?? null,
        askedBy: askedBy ?? null,
      };
      await db
        .insert(activity)
        .values({ ...row, before: toKept(before), after: toKept(after) })
        .catch((error: unknown) => log.error('A change was not written to the activity log.', { ...row, error }));
      options.onRecord?.({ operation, askedBy });
    },
    async list({ operation, actor, client, user, from, to, target }, { limit, cursor }, reader) {
      if (cursor !== undefined && !z.uuid().safeParse(cursor).success) throw invalidCursor(cursor);
      const rows = await db
        .select()
        .from(activity)
        .where(
          and(
            operation === undefined ? undefined : eq(activity.operation, operation),
            actor === undefined ? undefined : eq(activity.actorId, actor),
            client === undefined ? undefined : eq(activity.client, client),
            user === undefined ? undefined : eq(activity.userId, user),
            from && gte(activity.at, from),
            to && lt(activity.at, to),
            target === undefined
              ? undefined
              : sql`exists (select 1 from jsonb_each_text(${activity.target}) where value = ${target})`,
            shownTo(reader),
            cursor === undefined ? undefined : lt(activity.id, cursor),
          ),
        )
        .orderBy(desc(activity.id))
        .limit(limit + 1);
      const items = rows.slice(0, limit).map(toEntry);
      return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
    },
    async get(id, reader) {
      const known = z.uuid().safeParse(id).success;
      const [row] = known
        ? await db
            .select()
            .from(activity)
            .where(and(eq(activity.id, id), shownTo(reader)))
        : [];
      if (!row) throw new BoxError('activity_not_found', `There is no record "${id}" in the activity log.`);
      const isReadable = options.mayRead(reader, row.operation);
      return { ...toEntry(row), before: isReadable ? row.before : null, after: isReadable ? row.after : null };
    },
    findAsker: async (id) => (typeof id === 'string' && UUID_OR_TOKEN.test(id) ? options.findAsker(id) : undefined),
  };
}

// --- internal ---

type Row = typeof activity.$inferSelect;

const MAX_KEPT = 64 * 1_024;
const UUID_OR_TOKEN = /^[\w-]{20,100}$/;

function shownTo(reader: Caller): SQL | undefined {
  const hidden = hiddenFrom(reader);
  return hidden && or(isNull(activity.askedBy), eq(activity.askedBy, hidden.unless));
}

/** Plain data of a size that lists can bear. */
function toKept(value: unknown): unknown {
  const text = JSON.stringify(value ?? null) ?? 'null';
  return text.length > MAX_KEPT ? { truncated: true, bytes: text.length } : (JSON.parse(text) as unknown);
}

function toEntry(row: Row): ActivityEntry {
  const { id, at, operation, actorId, actorName, role, client, userId, keyId, source, target, requestId } = row;
  return {
    id,
    at: at.toISOString(),
    operation,
    actor: { id: actorId, name: actorName, role, client, user: userId, key: keyId },
    source,
    target,
    requestId,
  };
}
