import { z } from 'zod';
import { PlaneError } from '../errors.ts';
import { route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import type { Access } from '../organizations/access.ts';
import type { Db } from '../store/db.ts';
import { sql } from '../store/sql.ts';

export function auditRoutes({ db, access }: { db: Db; access: Access }): Route[] {
  return [
    route({
      id: 'audit.list',
      method: 'GET',
      path: '/api/v1/orgs/:id/audit',
      summary: 'List what was done in an organisation, the latest first',
      tag: 'audit',
      access: 'person',
      query: z.strictObject({
        limit: z
          .string()
          .regex(/^(?:[1-9]\d?|1\d\d|200)$/, 'A limit is a number from 1 to 200.')
          .optional()
          .describe('Entries of a page, at most 200. Default 50.'),
        cursor: z.string().max(200).optional().describe('`nextCursor` of the page before.'),
      }),
      answer: z.object({ items: z.array(EntryAnswer), nextCursor: z.string().nullable() }),
      errors: ['forbidden', 'not_found'],
      async handle(call, { params: { id = '' }, query: { limit = '50', cursor } }) {
        await access.require(call.account(), id, 'audit:read');
        const before = cursor === undefined ? LAST : parseCursor(cursor);
        const size = Number(limit);
        const rows = await db.all<Row>(
          sql`select id, at, action, actor, target, address from plane_audit
            where organization_id = ${id} and id < ${before} order by id desc limit ${size + 1}`,
        );
        const page = rows.slice(0, size);
        const last = rows.length > size ? page.at(-1) : undefined;
        return {
          items: page.map(({ at, ...row }) => ({ ...row, at: new Date(at).toISOString() })),
          nextCursor: last ? Buffer.from(last.id).toString('base64url') : null,
        };
      },
    }),
  ];
}

// --- internal ---

const EntryAnswer = z.object({
  id: z.string(),
  at: z.iso.datetime(),
  action: z.string(),
  actor: z.string(),
  target: z.string(),
  address: z.string().nullable(),
});

interface Row extends Omit<z.infer<typeof EntryAnswer>, 'at'> {
  at: number;
}

/** After every id. */
const LAST = 'g';

function parseCursor(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString();
  if (/^[\da-f]{12}-[\da-f]{6}-[\da-f]{12}$/.test(id)) return id;
  throw new PlaneError('invalid_request', `The cursor "${cursor}" does not belong to this list.`);
}
