import type { Queries } from '../store/db.ts';
import { sql, taking } from '../store/sql.ts';

/** Where a person is signed in: the session of a browser, or of a command line. */
export interface SignedInAt {
  id: string;
  kind: 'browser' | 'cli';
  /** Of the browser, or of the machine. Null: it has said none. */
  name: string | null;
  /** Where it was signed in from. */
  address: string | null;
  createdAt: number;
  seenAt: number;
  expiresAt: number;
}

/** Of each kind: those used last. */
export const MOST_SHOWN = 200;

/** Those that are good, the one used last first. */
export async function listSignIns(queries: Queries, userId: string, now: number): Promise<SignedInAt[]> {
  const browsers = await queries.all<SignedInAt>(
    sql`select id, 'browser' as kind, name, address, created_at, seen_at, expires_at from plane_sessions
      where user_id = ${userId} and expires_at > ${now} order by seen_at desc, id limit ${MOST_SHOWN}`,
  );
  const machines = await queries.all<SignedInAt>(
    sql`select id, 'cli' as kind, device_name as name, address, created_at, refreshed_at as seen_at, expires_at
      from plane_families where user_id = ${userId} and ended_at is null and expires_at > ${now}
      order by refreshed_at desc, id limit ${MOST_SHOWN}`,
  );
  return [...browsers, ...machines].toSorted((a, b) => b.seenAt - a.seenAt);
}

/** With the machines that were approved and have not come for their tokens yet: the session may be what approved them. False: the person has none of that id. */
export async function endSignIn(
  tx: Queries,
  { userId, id, now }: { userId: string; id: string; now: number },
): Promise<boolean> {
  const own = sql`id = ${id} and user_id = ${userId} and expires_at > ${now}`;
  const ended =
    (await tx.run(taking(sql`delete from plane_sessions where ${own}`))) +
    (await tx.run(taking(sql`update plane_families set ended_at = ${now} where ${own} and ended_at is null`)));
  if (ended > 0) await removeApproved(tx, { userId });
  return ended > 0;
}

/**
 * All but `keep`, and machines that were approved and have not come for their tokens yet, whoever approved them. Answers how
 * many sessions there were.
 */
export async function endOtherSignIns(
  tx: Queries,
  { userId, keep, now }: { userId: string; keep: string; now: number },
): Promise<number> {
  const good = sql`user_id = ${userId} and id <> ${keep} and expires_at > ${now}`;
  await removeApproved(tx, { userId });
  return (
    (await tx.run(taking(sql`delete from plane_sessions where ${good}`))) +
    (await tx.run(taking(sql`update plane_families set ended_at = ${now} where ${good} and ended_at is null`)))
  );
}

/** Machines that would still be given tokens of a person, for one organisation or for any. */
export async function removeApproved(
  tx: Queries,
  { userId, organizationId }: { userId: string; organizationId?: string },
): Promise<void> {
  const approved = sql`user_id = ${userId} and status = ${'approved'}`;
  const of = organizationId === undefined ? approved : sql`${approved} and organization_id = ${organizationId}`;
  await tx.run(sql`delete from plane_device_codes where ${of}`);
}
