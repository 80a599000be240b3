import { z } from 'zod';
import { entryOf } from '../audit/audit.ts';
import type { Audit } from '../audit/audit.ts';
import { PlaneError } from '../errors.ts';
import { route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { removeFamilies } from '../oauth/remove-families.ts';
import { requireSignedIn } from '../organizations/access.ts';
import { listLastOwned } from '../organizations/members.ts';
import { listMemberships } from '../organizations/organizations.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Db, Queries } from '../store/db.ts';
import { sql, taking } from '../store/sql.ts';
import { Email, GivenPassword } from './schemas.ts';
import type { SignIn } from './sign-in.ts';

export interface DeleteAccount {
  db: Db;
  audit: Audit;
  signIn: SignIn;
  sessions: Sessions;
}

export function deleteAccountRoute({ db, audit, signIn, sessions }: DeleteAccount): Route {
  return route({
    id: 'me.delete',
    method: 'DELETE',
    path: '/api/v1/me',
    summary: 'Delete one’s account, with its sessions and tokens; organisations stay',
    tag: 'auth',
    access: 'person',
    status: 204,
    body: z.strictObject({
      confirm: Email.describe('The e-mail address of the account.'),
      password: GivenPassword.optional().describe('That of the account, if it has one.'),
    }),
    errors: ['forbidden', 'last_owner', 'wrong_credentials', 'rate_limited'],
    async handle(call, { body: { confirm, password } }) {
      const account = call.account();
      requireSignedIn(account);
      const { userId, email, via } = account;
      if (confirm !== email)
        throw new PlaneError('invalid_request', `The request is not valid. "confirm": it is not "${email}".`);
      await requireNoLastOwner(db, userId);
      await signIn.confirm(call, password);
      // A crash from here on leaves the account with its command lines signed out, and it can be deleted still.
      await removeFamilies(db, { of: 'user', id: userId, now: call.now });
      await db.transaction(async (tx) => {
        await requireNoLastOwner(tx, userId);
        const entry = entryOf(call, { action: 'account.delete', target: email });
        const memberships = await listMemberships(tx, userId);
        for (const { id: organizationId } of memberships) await audit.record({ ...entry, organizationId }, tx);
        if (memberships.length === 0) await audit.record(entry, tx);
        await tx.run(sql`delete from plane_device_codes where user_id = ${userId}`);
        // With memberships, sessions and tokens.
        await tx.run(taking(sql`delete from plane_users where id = ${userId}`));
      });
      // Takes the cookie away.
      if (via === 'session') await sessions.end(call);
    },
  });
}

// --- internal ---

async function requireNoLastOwner(queries: Queries, userId: string): Promise<void> {
  const organizations = await listLastOwned(queries, userId);
  if (organizations.length === 0) return;
  const names = organizations.map(({ name }) => `"${name}"`).join(', ');
  throw new PlaneError(
    'last_owner',
    `You are the last owner of ${names}. Make another member an owner there, or delete the organisation, first.`,
    { details: { organizations } },
  );
}
