import { randomBytes } from 'node:crypto';
import type { Account, Call } from '../http/route.ts';
import type { Db, Queries } from '../store/db.ts';
import { sql } from '../store/sql.ts';

/** What has been done that someone may ask about later. Rows are added, and swept when they are old; none is changed. */
export interface Audit {
  /** `queries`: the transaction it is part of, so that nothing is done unrecorded, or recorded and not done. */
  record(entry: Entry, queries?: Queries): Promise<void>;
}

export interface Entry {
  /** Undefined: of no organisation, and shown in none. */
  organizationId?: string | undefined;
  /** `members.remove` */
  action: string;
  /** As a person reads it: an e-mail address. */
  actor: string;
  /** What it was done to, and how: `ada@example.com: viewer -> admin`. */
  target: string;
  address?: string | undefined;
}

/** What has been done by who calls. */
export function entryOf(call: Call, done: Pick<Entry, 'organizationId' | 'action' | 'target'>): Entry {
  return { ...done, actor: toActor(call.account()), address: call.address };
}

export function createAudit({ db, now }: { db: Db; now(): number }): Audit {
  let last = 0;
  let count = 0;
  /** Sorts as it was recorded, also within a millisecond. */
  const makeId = (at: number) => {
    count = at === last ? count + 1 : 0;
    last = at;
    const parts = [at.toString(16).padStart(12, '0'), count.toString(16).padStart(6, '0')];
    return [...parts, randomBytes(6).toString('hex')].join('-');
  };
  return {
    async record({ organizationId = null, action, actor, target, address = null }, queries = db) {
      const at = now();
      await queries.run(
        sql`insert into plane_audit (id, organization_id, at, action, actor, target, address)
          values (${makeId(at)}, ${organizationId}, ${at}, ${action}, ${actor}, ${target}, ${address})`,
      );
    },
  };
}

// --- internal ---

function toActor({ email, via }: Account): string {
  return via === 'token' ? `${email} (token)` : email;
}
