import { z } from 'zod';
import type { Audit } from '../audit/audit.ts';
import { PlaneError } from '../errors.ts';
import { route } from '../http/route.ts';
import type { Call, Route } from '../http/route.ts';
import { acceptInvite, listInvitesOf } from '../invites/invites.ts';
import { createOrganization, listMemberships } from '../organizations/organizations.ts';
import type { Membership } from '../organizations/organizations.ts';
import { openSession, signUpClosed } from '../people/sign-in.ts';
import type { SignedIn } from '../people/sign-in.ts';
import { addUser, findUser, findUserByEmail, findUserBySubject, hasUsers } from '../people/users.ts';
import type { Sealer } from '../sealer.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Db, Queries } from '../store/db.ts';
import { sql } from '../store/sql.ts';
import { createFlows, parseReturnTo } from './flow.ts';
import { CALLBACK } from './oidc.ts';
import type { Identity, Oidc } from './oidc.ts';

export interface OidcRoutes {
  db: Db;
  oidc: Oidc;
  audit: Audit;
  sessions: Sessions;
  sealer: Sealer;
  publicUrl(): string;
}

export function oidcRoutes(rooms: OidcRoutes): Route[] {
  const { oidc, publicUrl } = rooms;
  const flows = createFlows(rooms);
  const begin = async (call: Call, asked: { returnTo: string | undefined; linksSession: string | undefined }) => {
    const returnTo = parseReturnTo(asked.returnTo, publicUrl());
    const { url, checks } = await oidc.begin();
    flows.keep(call, { checks, returnTo, linksSession: asked.linksSession });
    return url;
  };
  return [
    route({
      id: 'oidc.start',
      method: 'GET',
      path: '/api/v1/auth/oidc/start',
      summary: 'Go to the OpenID Connect provider to sign in',
      tag: 'auth',
      access: 'anyone',
      query: z.strictObject({ returnTo: z.string().max(1_024).optional().describe('A path here. Default: `/`.') }),
      handle: (call, { query: { returnTo } }) =>
        withErrorPage(async () => redirect(await begin(call, { returnTo, linksSession: undefined }))),
    }),
    route({
      id: 'oidc.callback',
      method: 'GET',
      path: CALLBACK,
      summary: 'Come back from the OpenID Connect provider',
      tag: 'auth',
      access: 'anyone',
      handle: (call) =>
        withErrorPage(async () => {
          const flow = flows.take(call);
          if (!flow) throw new PlaneError('sign_in_failed', 'This browser has not started a sign-in. Start again.');
          const identity = await oidc.finish(call.event.url.search, flow.checks);
          if (flow.linksSession === undefined)
            await openSession(rooms, call, (tx) => findPerson(rooms, call, identity, tx));
          else await linkAccount(rooms, call, { identity, sessionId: flow.linksSession });
          return redirect(flow.returnTo);
        }),
    }),
    route({
      id: 'oidc.link',
      method: 'POST',
      path: '/api/v1/auth/oidc/link',
      summary: 'Begin to link one’s account with the OpenID Connect provider',
      tag: 'auth',
      access: 'person',
      body: z.strictObject({ returnTo: z.string().max(1_024).optional() }),
      answer: z.object({ url: z.string().describe('Where the browser goes.') }),
      errors: ['forbidden', 'provider_unavailable'],
      async handle(call, { body: { returnTo } }) {
        const { via, credentialId } = call.account();
        if (via !== 'session')
          throw new PlaneError('forbidden', 'An account is linked in the browser that is signed in.');
        return { url: await begin(call, { returnTo, linksSession: credentialId }) };
      },
    }),
  ];
}

// --- internal ---

/** The browser of a person comes here, so what fails is shown by a page, with the code of the error. */
async function withErrorPage(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PlaneError) || error.code === 'invalid_request') throw error;
    return redirect(`/login?error=${error.code}`);
  }
}

function redirect(location: string): Response {
  return new Response(null, { status: 302, headers: { location } });
}

/** Throws `account_exists`, `signup_closed`. */
async function findPerson({ audit }: OidcRoutes, call: Call, identity: Identity, tx: Queries): Promise<SignedIn> {
  const { subject, email, name } = identity;
  const { now, address } = call;
  const known = await findUserBySubject(tx, subject);
  if (known) return { user: known, memberships: await listMemberships(tx, known.id), action: 'auth.login' };
  // Not linked by the address alone: an account may have been made under it by who does not have it.
  if (await findUserByEmail(tx, email))
    throw new PlaneError('account_exists', 'There is an account with this address. Sign in to it, and link it.');
  const isFirst = !(await hasUsers(tx));
  const invites = isFirst ? [] : await listInvitesOf(tx, email, now);
  if (!isFirst && invites.length === 0) throw signUpClosed();
  const user = await addUser(tx, { email, name, password: null, oidcSubject: subject, now });
  const memberships: Membership[] = [];
  if (isFirst) memberships.push(await createOrganization(tx, { name, userId: user.id, now }));
  for (const invite of invites) memberships.push(await acceptInvite(tx, { invite, user, audit, address, now }));
  return { user, memberships, action: 'auth.signup' };
}

/** Throws `account_exists` when the person of the provider is another account's already. */
async function linkAccount(
  { db, audit, sessions }: OidcRoutes,
  call: Call,
  { identity: { subject }, sessionId }: { identity: Identity; sessionId: string },
): Promise<void> {
  const session = await sessions.find(call);
  if (session?.id !== sessionId)
    throw new PlaneError('sign_in_failed', 'The session that started this has ended. Sign in, and start again.');
  const { userId } = session;
  await db.transaction(async (tx) => {
    const other = await findUserBySubject(tx, subject);
    if (other && other.id !== userId)
      throw new PlaneError('account_exists', 'This person of the provider is linked with another account.');
    await tx.run(sql`update plane_users set oidc_subject = ${subject} where id = ${userId}`);
    const actor = (await findUser(tx, userId))?.email ?? '';
    const [first] = await listMemberships(tx, userId);
    await audit.record(
      { organizationId: first?.id, action: 'auth.link', actor, target: subject, address: call.address },
      tx,
    );
  });
}
