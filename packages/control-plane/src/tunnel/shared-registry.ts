import { randomUUID } from 'node:crypto';
import type { Db } from '../store/db.ts';
import { sql } from '../store/sql.ts';
import type { Sql } from '../store/sql.ts';
import type { Held, Registry } from './registry.ts';

export interface SharedRegistryOptions {
  db: Db;
  now(): number;
  /** Where other control planes on the store reach this one. */
  url: string | undefined;
}

/** Of all control planes on a store. What one of them held that has died is held by none after a minute. */
export function createSharedRegistry({ db, now, url }: SharedRegistryOptions): Registry {
  const plane = randomUUID();
  const takeAgain = ({ grant: { name }, id }: Held): Promise<unknown> =>
    db.run(sql`update plane_tunnels set plane = ${plane}, plane_url = ${url ?? null}, held = ${id}, seen_at = ${now()}
      where name = ${name} and held is null`);
  return {
    add: ({ installationId, name, expiresAt }) =>
      db.transaction(async (tx) => {
        const row = await tx.get<{ issuedAt: number }>(
          sql`select issued_at from plane_tunnels where installation_id = ${installationId}`,
        );
        const issuedAt = Math.max(now(), Number(row?.issuedAt ?? 0) + 1);
        await tx.run(
          sql`insert into plane_tunnels (installation_id, name, issued_at, expires_at)
            values (${installationId}, ${name}, ${issuedAt}, ${expiresAt})
            on conflict (installation_id) do update set name = excluded.name, issued_at = excluded.issued_at,
              expires_at = excluded.expires_at, plane = null, plane_url = null, held = null, seen_at = null`,
        );
        return issuedAt;
      }),
    async take(grant) {
      const { installationId, name, issuedAt, expiresAt } = grant;
      const id = randomUUID();
      // Of two that come at once one is the later, and of two tunnels the newer one stays.
      const taken = await db.run(
        sql`insert into plane_tunnels (installation_id, name, issued_at, expires_at, plane, plane_url, held, seen_at)
          values (${installationId}, ${name}, ${issuedAt}, ${expiresAt}, ${plane}, ${url ?? null}, ${id}, ${now()})
          on conflict (installation_id) do update set name = excluded.name, issued_at = excluded.issued_at,
            expires_at = excluded.expires_at, plane = excluded.plane, plane_url = excluded.plane_url,
            held = excluded.held, seen_at = excluded.seen_at
          where plane_tunnels.name = excluded.name or plane_tunnels.issued_at < excluded.issued_at`,
      );
      return taken === 0 ? undefined : { grant, id };
    },
    async leave({ grant: { name }, id }) {
      await db.run(sql`update plane_tunnels set plane = null, held = null where name = ${name} and held = ${id}`);
    },
    async findLost(held) {
      const lost = new Set<(typeof held)[number]>();
      for (let at = 0; at < held.length; at += PART) {
        const part = held.slice(at, at + PART);
        const rows = await db.all<Row>(
          sql`select installation_id, name, issued_at, held from plane_tunnels
            where installation_id in (${listValues(part.map(({ grant }) => grant.installationId))})`,
        );
        const found = new Map(rows.map((row) => [row.installationId, row]));
        for (const one of part) {
          const row = found.get(one.grant.installationId);
          if (isLost(one, row)) lost.add(one);
          else if (row?.name === one.grant.name && row.held === null) await takeAgain(one);
        }
      }
      return lost;
    },
    async findHolder(name) {
      const row = await db.get<{ plane: string; planeUrl: string | null }>(
        sql`select plane, plane_url from plane_tunnels
          where name = ${name} and plane is not null and seen_at > ${now() - DEAD_MS} and expires_at > ${now()}`,
      );
      return row === undefined || row.plane === plane ? undefined : { url: row.planeUrl ?? undefined };
    },
    async beat() {
      await db.run(sql`update plane_tunnels set seen_at = ${now()} where plane = ${plane}`);
    },
    async close() {
      await db.run(sql`update plane_tunnels set plane = null, held = null where plane = ${plane}`);
    },
  };
}

// --- internal ---

/** Of one statement, as tunnels are asked about. */
const PART = 50;
/** How long nothing is heard of a control plane that has died. It says every ten seconds that it is there. */
const DEAD_MS = 60_000;

interface Row {
  installationId: string;
  name: string;
  issuedAt: number;
  held: string | null;
}

function isLost(
  { grant, id }: { grant: { name: string; issuedAt: number }; id: string },
  row: Row | undefined,
): boolean {
  if (!row) return false;
  if (row.name !== grant.name) return Number(row.issuedAt) >= grant.issuedAt;
  return row.held !== null && row.held !== id;
}

function listValues(values: readonly string[]): Sql {
  return { texts: ['', ...values.slice(1).map(() => ', '), ''], values };
}
