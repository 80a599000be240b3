import { asc, desc, eq, inArray, lt, sql } from 'drizzle-orm';
import { newRunId } from '../engine/ids.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { isUuid, parseUuidCursor } from '../operations/cursor.ts';
import { toPageOf } from './paging.ts';
import type { Page, PageOf } from './paging.ts';
import type { NewSuite, Suite } from './suite.ts';
import { evalSuiteCases, evalSuites } from './table.ts';

export type SuiteChange = Partial<Omit<NewSuite, 'by'>>;

/** Undefined: there is no such suite. It is found by its id or by its name. */
export interface SuiteStore {
  /** Newest first. Throws `invalid_cursor`. */
  list(page: Page): Promise<PageOf<Suite>>;
  find(idOrName: string): Promise<Suite | undefined>;
  /** Undefined: there is one of that name. */
  create(given: NewSuite): Promise<Suite | undefined>;
  /** `taken`: another one has that name. */
  update(suite: Suite, change: SuiteChange): Promise<Suite | 'taken' | undefined>;
  remove(id: string): Promise<void>;
  /** Those that score live turns. */
  listOnline(): Promise<Suite[]>;
}

export function createSuiteStore(db: Drizzle): SuiteStore {
  const withCases = async (rows: readonly Row[]): Promise<Suite[]> => {
    const ids = rows.map(({ id }) => id);
    const links =
      ids.length === 0
        ? []
        : await db
            .select()
            .from(evalSuiteCases)
            .where(inArray(evalSuiteCases.suiteId, ids))
            .orderBy(asc(evalSuiteCases.position));
    return rows.map((row) =>
      toSuite(
        row,
        links.flatMap(({ suiteId, caseId }) => (suiteId === row.id ? [caseId] : [])),
      ),
    );
  };
  return {
    async list(page) {
      const rows = await db
        .select()
        .from(evalSuites)
        .where(page.cursor === undefined ? undefined : lt(evalSuites.id, parseUuidCursor(page.cursor)))
        .orderBy(desc(evalSuites.id))
        .limit(page.limit + 1);
      const suites = new Map((await withCases(rows.slice(0, page.limit))).map((suite) => [suite.id, suite]));
      return toPageOf(rows, page, { idOf: ({ id }) => id, show: ({ id }) => suites.get(id) as Suite });
    },
    async find(idOrName) {
      const place = isUuid(idOrName) ? eq(evalSuites.id, idOrName) : eq(evalSuites.name, idOrName);
      return (await withCases(await db.select().from(evalSuites).where(place)))[0];
    },
    create: ({ name, note, by, cases, ...settings }) =>
      db.transaction(async (tx) => {
        const values = { id: newRunId(), name, note, settings, createdBy: by };
        const [row] = await tx.insert(evalSuites).values(values).onConflictDoNothing().returning();
        if (!row) return undefined;
        await linkCases(tx, row.id, cases);
        return toSuite(row, cases);
      }),
    update: ({ id, cases: known, ...suite }, { name, note, cases, ...settings }) =>
      db.transaction(async (tx) => {
        if (name !== undefined && name !== suite.name) {
          const [other] = await tx.select({ id: evalSuites.id }).from(evalSuites).where(eq(evalSuites.name, name));
          if (other) return 'taken';
        }
        const changed = {
          ...(name === undefined ? {} : { name }),
          ...(note === undefined ? {} : { note }),
          settings: sql`${evalSuites.settings} || ${JSON.stringify(settings)}::jsonb`,
          updatedAt: new Date(),
        };
        const [row] = await tx.update(evalSuites).set(changed).where(eq(evalSuites.id, id)).returning();
        if (!row) return undefined;
        if (cases) {
          await tx.delete(evalSuiteCases).where(eq(evalSuiteCases.suiteId, id));
          await linkCases(tx, id, cases);
        }
        return toSuite(row, cases ?? known);
      }),
    async remove(id) {
      await db.delete(evalSuites).where(eq(evalSuites.id, id));
    },
    async listOnline() {
      const rows = await db
        .select()
        .from(evalSuites)
        .where(sql`${evalSuites.settings} -> 'online' is not null and ${evalSuites.settings} -> 'online' <> 'null'`)
        .orderBy(evalSuites.id)
        .limit(100);
      return rows.map((row) => toSuite(row, []));
    },
  };
}

// --- internal ---

type Row = typeof evalSuites.$inferSelect;

async function linkCases(tx: Drizzle, suiteId: string, cases: readonly string[]): Promise<void> {
  if (cases.length === 0) return;
  await tx.insert(evalSuiteCases).values(cases.map((caseId, position) => ({ suiteId, caseId, position })));
}

function toSuite({ id, name, note, settings, createdBy, createdAt, updatedAt }: Row, cases: string[]): Suite {
  const times = { createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
  return { id, name, note, cases, ...settings, createdBy, ...times };
}
