import { and, asc, count, eq, gt, inArray, like, sql } from 'drizzle-orm';
import type { SecretStore } from '../secrets/store.ts';
import { secrets } from '../secrets/table.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { NO_SETTINGS } from './store.ts';
import type { SecretChange, StoredTrigger, TriggerSettings, TriggerTarget } from './store.ts';
import { restartPoll, stopPoll } from './poll-rows.ts';
import type { PollRow } from './poll-rows.ts';
import { triggerPolls, triggers } from './table.ts';

/** A trigger with how many secrets it has, and how far it has come where it asks for itself. */
export interface ListedTrigger {
  trigger: StoredTrigger;
  secrets: number;
  poll: PollRow | null;
}

export interface TriggerRows {
  /** By id. */
  list(after: string | undefined, limit: number): Promise<ListedTrigger[]>;
  find(id: string): Promise<ListedTrigger | undefined>;
  /** Those that there are, without their secrets. */
  findMany(ids: readonly string[]): Promise<Map<string, StoredTrigger>>;
  /** What requests are signed with: the current one first. */
  readSecrets(id: string): Promise<string[]>;
  /** False: there are as many as may be. */
  create(trigger: Pick<StoredTrigger, 'id' | Changeable | 'createdBy'>, secret: string | undefined): Promise<boolean>;
  /** As `change` says of the trigger as it is by then, which no one else changes meanwhile. False: there is none. */
  update(id: string, change: (before: StoredTrigger) => Changed, secrets: SecretChange): Promise<boolean>;
  /** With its deliveries. False: there was none. */
  delete(id: string): Promise<boolean>;
}

export interface Changed {
  changed: Pick<StoredTrigger, Changeable>;
  /** Of a poll that was changed: other, if it asks for something else. */
  polls?: 'other' | 'same' | undefined;
}

export type Changeable = 'name' | 'target' | 'enabled' | 'settings';

/** Among the secrets: those of the workspace have another. */
export const SECRET_OWNER = 'triggers';

export function createTriggerRows(db: Drizzle, vault: () => Promise<SecretStore>): TriggerRows {
  const select = () =>
    db
      .select({
        row: triggers,
        secrets: sql<number>`(select count(*)::int from ${secrets} s where s.owner = ${SECRET_OWNER}
          and s.name in ('["' || ${triggers.id} || '","current"]', '["' || ${triggers.id} || '","previous"]'))`,
        poll: triggerPolls,
      })
      .from(triggers)
      .leftJoin(triggerPolls, eq(triggerPolls.triggerId, triggers.id));
  return {
    async list(after, limit) {
      const rows = await select()
        .where(after === undefined ? undefined : gt(triggers.id, after))
        .orderBy(asc(triggers.id))
        .limit(limit);
      return rows.map(toListed);
    },
    async find(id) {
      const [row] = await select().where(eq(triggers.id, id));
      return row && toListed(row);
    },
    async findMany(ids) {
      if (ids.length === 0) return new Map();
      const rows = await db
        .select()
        .from(triggers)
        .where(inArray(triggers.id, [...ids]));
      return new Map(rows.map((row) => [row.id, toStored(row)]));
    },
    async readSecrets(id) {
      const store = await vault();
      const values = [await store.get(nameOf(id, 'current')), await store.get(nameOf(id, 'previous'))];
      return values.filter((value) => value !== undefined);
    },
    async create(trigger, secret) {
      const store = await vault();
      return db.transaction(async (tx) => {
        await tx.execute(sql`lock table ${triggers} in share row exclusive mode`);
        const [all] = await tx.select({ value: count() }).from(triggers);
        if ((all?.value ?? 0) >= MOST_TRIGGERS) return false;
        await tx.insert(triggers).values({ id: trigger.id, createdBy: trigger.createdBy, ...toRow(trigger) });
        if (trigger.settings.poll) await tx.insert(triggerPolls).values({ triggerId: trigger.id });
        if (secret !== undefined) await store.within(tx).set(nameOf(trigger.id, 'current'), secret);
        return true;
      });
    },
    async update(id, change, { secret, dropsPrevious }) {
      const store = await vault();
      return db.transaction(async (tx) => {
        const [before] = await tx.select().from(triggers).where(eq(triggers.id, id)).for('no key update');
        if (!before) return false;
        const { changed, polls } = change(toStored(before));
        await tx
          .update(triggers)
          .set({ ...toRow(changed), updatedAt: new Date() })
          .where(eq(triggers.id, id));
        if (polls) await restartPoll(tx, id, polls === 'other');
        else if (!changed.enabled) await stopPoll(tx, id);
        const own = store.within(tx);
        const current = secret === undefined ? undefined : await own.get(nameOf(id, 'current'));
        if (current !== undefined && current !== secret) await own.set(nameOf(id, 'previous'), current);
        if (secret !== undefined) await own.set(nameOf(id, 'current'), secret);
        if (dropsPrevious) await own.delete(nameOf(id, 'previous'));
        return true;
      });
    },
    delete: (id) =>
      db.transaction(async (tx) => {
        const rows = await tx.delete(triggers).where(eq(triggers.id, id)).returning({ id: triggers.id });
        // Compared as it is: an id may hold what "like" reads as any character.
        if (rows.length > 0)
          await tx.delete(secrets).where(and(eq(secrets.owner, SECRET_OWNER), like(secrets.name, toPrefix(id))));
        return rows.length > 0;
      }),
  };
}

// --- internal ---

const MOST_TRIGGERS = 500;

function nameOf(id: string, which: 'current' | 'previous'): string {
  return JSON.stringify([id, which]);
}

function toPrefix(id: string): string {
  return `${JSON.stringify([id])
    .slice(0, -1)
    .replaceAll(/[\\%_]/g, String.raw`\$&`)},%`;
}

type Row = typeof triggers.$inferSelect;

function toRow({ name, target, enabled, settings }: Pick<StoredTrigger, Changeable>) {
  const isWorkflow = 'workflow' in target;
  return {
    name,
    targetKind: isWorkflow ? ('workflow' as const) : ('agent' as const),
    target: isWorkflow ? target.workflow : target.agent,
    enabled,
    settings: JSON.stringify(settings),
  };
}

function toStored({ targetKind, target, settings, ...row }: Row): StoredTrigger {
  const to: TriggerTarget = targetKind === 'workflow' ? { workflow: target } : { agent: target };
  return { ...row, target: to, settings: { ...NO_SETTINGS, ...(JSON.parse(settings) as TriggerSettings) } };
}

function toListed({ row, secrets: has, poll }: { row: Row; secrets: number; poll: PollRow | null }): ListedTrigger {
  return { trigger: toStored(row), secrets: has, poll };
}
