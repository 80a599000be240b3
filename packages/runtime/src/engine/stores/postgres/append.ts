import type { Append, AppendResult } from '../../journal/appends.ts';
import { commitQuery } from './batch.ts';
import { appendQuery, isSmall } from './one.ts';
import { continueRun, lockChildren } from './chain.ts';
import { lockKey } from './serial.ts';
import type { PostgresSerial } from './serial.ts';
import type { Query } from './sql.ts';
import type { Transaction } from './transaction.ts';
import type { Tables } from '../sql/tables.ts';
import { fromStoredText, toStoredText } from '../sql/text.ts';
import { toAppended } from '../sql/verdict.ts';
import { endsIn } from '../sql/write.ts';

/** A row of `commitQuery`: a run that was written to, or a hook that it has. */
export interface CommitRow {
  id: string;
  now: number | null;
  token?: string | null;
}

/** What a commit did, by run id. */
export interface Committed {
  at: Map<string, number>;
  tokens: Map<string, Set<string>>;
}

/** Whether the append may share a statement: it hands no lock on. */
export function isPlainAppend({ patch, nextRunId }: Append): boolean {
  return nextRunId === undefined || !endsIn(patch);
}

/** The append alone. */
export function toAppendQuery(tables: Tables, entry: Append): Query {
  return isSmall(entry) ? appendQuery(tables, entry) : commitQuery(tables, { entries: [entry], areSiblings: true });
}

/** An end that hands its lock on. Undefined: it was refused. */
export async function endInTransaction(
  tx: Transaction,
  { tables, serial }: { tables: Tables; serial: PostgresSerial },
  entry: Append,
): Promise<AppendResult | undefined> {
  const [lock] = await tx.query<{ key: string }>(
    `select serial_key as key, ${lockKey(tables, 'serial_key')}::text from ${tables.runs}
    where run_id = $1 and serial_key is not null`,
    [toStoredText(entry.runId)],
  );
  if (entry.continueAs) await lockChildren(tx, tables, entry.runId);
  const { text, params } = toAppendQuery(tables, entry);
  const committed = toCommitted(await tx.query<CommitRow>(text, params));
  const at = committed.at.get(entry.runId);
  if (at === undefined) return undefined;
  const { nextRunId } = entry;
  const promoted = entry.continueAs
    ? await continueRun(tx, tables, entry)
    : lock && nextRunId !== undefined
      ? await serial.promote(tx, fromStoredText(lock.key), () => nextRunId)
      : undefined;
  return toAppended(at, listRefused(entry, committed.tokens.get(entry.runId)), promoted);
}

export function toCommitted(rows: CommitRow[]): Committed {
  const at = new Map<string, number>();
  const tokens = new Map<string, Set<string>>();
  for (const row of rows) {
    const id = fromStoredText(row.id);
    if (row.token == null) {
      at.set(id, row.now ?? 0);
      continue;
    }
    const mine = tokens.get(id) ?? new Set();
    tokens.set(id, mine.add(fromStoredText(row.token)));
  }
  return { at, tokens };
}

/** The tokens of the append's hooks that its run has no hook of. */
export function listRefused({ hooks = [] }: Append, tokens: ReadonlySet<string> | undefined): string[] {
  return hooks.map((hook) => hook.token).filter((token) => !tokens?.has(token));
}
