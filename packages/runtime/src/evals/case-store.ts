import { and, arrayOverlaps, desc, eq, inArray, lt } from 'drizzle-orm';
import { newRunId } from '../engine/ids.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { toShownInput } from './case.ts';
import type { EvalCase, EvalTarget, NewCase } from './case.ts';
import { isUuid, parseUuidCursor } from '../operations/cursor.ts';
import { toPageOf } from './paging.ts';
import type { Page, PageOf } from './paging.ts';
import { evalCases } from './table.ts';

export interface CaseFilter {
  kind?: EvalTarget['kind'] | undefined;
  name?: string | undefined;
  tag?: string | undefined;
}

export type CaseChange = Partial<Omit<NewCase, 'by' | 'fromRunId'>>;
export type CaseRow = typeof evalCases.$inferSelect;

/** Undefined: there is no such case. */
export interface CaseStore {
  /** Newest first. Throws `invalid_cursor`. */
  list(filter: CaseFilter, page: Page): Promise<PageOf<EvalCase>>;
  find(id: string): Promise<CaseRow | undefined>;
  create(given: NewCase): Promise<EvalCase>;
  update(id: string, change: CaseChange): Promise<EvalCase | undefined>;
  remove(id: string): Promise<EvalCase | undefined>;
  /** Those of the ids there are. */
  listKnown(ids: readonly string[]): Promise<Set<string>>;
  /** Those of the ids in their order, then the others with one of the tags, oldest first. At most so many. */
  listFor(suite: { cases: readonly string[]; tags: readonly string[] }, most: number): Promise<CaseRow[]>;
}

export function createCaseStore(db: Drizzle): CaseStore {
  return {
    async list({ kind, name, tag }, page) {
      const rows = await db
        .select()
        .from(evalCases)
        .where(
          and(
            kind && eq(evalCases.targetKind, kind),
            name === undefined ? undefined : eq(evalCases.targetName, name),
            tag === undefined ? undefined : arrayOverlaps(evalCases.tags, [tag]),
            page.cursor === undefined ? undefined : lt(evalCases.id, parseUuidCursor(page.cursor)),
          ),
        )
        .orderBy(desc(evalCases.id))
        .limit(page.limit + 1);
      return toPageOf(rows, page, { idOf: ({ id }) => id, show: toCase });
    },
    async find(id) {
      const [row] = isUuid(id) ? await db.select().from(evalCases).where(eq(evalCases.id, id)) : [];
      return row;
    },
    async create({ by, target, ...given }) {
      const values = { id: newRunId(), ...given, ...toColumns(target), createdBy: by };
      const [row] = await db.insert(evalCases).values(values).returning();
      return toCase(row as CaseRow);
    },
    async update(id, { target, ...change }) {
      if (!isUuid(id)) return undefined;
      const changed = { ...change, ...(target && toColumns(target)), updatedAt: new Date() };
      const [row] = await db.update(evalCases).set(changed).where(eq(evalCases.id, id)).returning();
      return row && toCase(row);
    },
    async remove(id) {
      const [row] = isUuid(id) ? await db.delete(evalCases).where(eq(evalCases.id, id)).returning() : [];
      return row && toCase(row);
    },
    async listKnown(ids) {
      const wanted = ids.filter(isUuid);
      if (wanted.length === 0) return new Set();
      const rows = await db.select({ id: evalCases.id }).from(evalCases).where(inArray(evalCases.id, wanted));
      return new Set(rows.map(({ id }) => id));
    },
    async listFor({ cases, tags }, most) {
      const named =
        cases.length === 0
          ? []
          : await db
              .select()
              .from(evalCases)
              .where(inArray(evalCases.id, [...cases]));
      const byId = new Map(named.map((row) => [row.id, row]));
      const tagged =
        tags.length === 0
          ? []
          : await db
              .select()
              .from(evalCases)
              .where(arrayOverlaps(evalCases.tags, [...tags]))
              .orderBy(evalCases.id)
              .limit(most);
      const first = cases.flatMap((id) => byId.get(id) ?? []);
      return [...first, ...tagged.filter(({ id }) => !byId.has(id))].slice(0, most);
    },
  };
}

export function toCase(row: CaseRow): EvalCase {
  const { targetKind: kind, targetName: name, input, expected, createdAt, updatedAt, ...same } = row;
  return {
    ...same,
    target: { kind, name },
    input: toShownInput(input),
    ...(expected ? { expected: expected.value } : {}),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  } as EvalCase;
}

// --- internal ---

function toColumns({ kind, name }: EvalTarget) {
  return { targetKind: kind, targetName: name };
}
