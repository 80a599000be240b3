import { z } from 'zod';
import type { Audit } from '../audit/audit.ts';
import { PlaneError } from '../errors.ts';
import { route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import type { Access } from '../organizations/access.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { deleteAccountRoute } from './delete-route.ts';
import { describeAccount } from './me.ts';
import type { MeOptions } from './me.ts';
import { Email, GivenPassword, MeAnswer, Name, NewPassword } from './schemas.ts';
import type { SignIn } from './sign-in.ts';
import { hasUsers } from './users.ts';

export interface PeopleRoutes extends MeOptions {
  signIn: SignIn;
  sessions: Sessions;
  access: Access;
  audit: Audit;
  /** Undefined: there is no other way than a password. */
  oidc: object | undefined;
  full: { passwordSignup: boolean };
}

export function peopleRoutes(rooms: PeopleRoutes): Route[] {
  const { signIn, sessions, access } = rooms;
  return [
    route({
      id: 'auth.signup',
      method: 'POST',
      path: '/api/v1/auth/signup',
      summary: 'Make an account and sign in',
      tag: 'auth',
      access: 'anyone',
      origin: 'always',
      status: 201,
      body: z.strictObject({
        email: Email,
        password: NewPassword,
        name: Name,
        organization: Name.optional().describe('What the organisation of the first person is called.'),
        invite: z.string().max(128).optional().describe('The token of an invite.'),
      }),
      answer: MeAnswer,
      errors: ['signup_closed', 'invite_invalid', 'account_exists', 'limit_reached', 'rate_limited'],
      handle: async (call, { body }) => describeAccount(rooms, await signIn.signUp(call, body)),
    }),
    route({
      id: 'auth.methods',
      method: 'GET',
      path: '/api/v1/auth/methods',
      summary: 'Say how one signs in here',
      tag: 'auth',
      access: 'anyone',
      answer: z.object({
        signup: z.enum(['open', 'invited', 'provider']),
        password: z.literal(true),
        oidc: z.boolean(),
        hasPeople: z.boolean().describe('False: the next to sign up owns the control plane.'),
      }),
      async handle() {
        const hasPeople = await hasUsers(rooms.db);
        const signup = rooms.full.passwordSignup ? (hasPeople ? 'invited' : 'open') : 'provider';
        return { signup, password: true, oidc: rooms.oidc !== undefined, hasPeople };
      },
    }),
    route({
      id: 'auth.login',
      method: 'POST',
      path: '/api/v1/auth/login',
      summary: 'Sign in with a password',
      tag: 'auth',
      access: 'anyone',
      origin: 'always',
      body: z.strictObject({ email: Email, password: GivenPassword }),
      answer: MeAnswer,
      errors: ['wrong_credentials', 'rate_limited'],
      handle: async (call, { body }) => describeAccount(rooms, await signIn.logIn(call, body)),
    }),
    route({
      id: 'auth.password',
      method: 'POST',
      path: '/api/v1/auth/password',
      summary: 'Change one’s password; other browsers and command lines are signed out',
      tag: 'auth',
      access: 'person',
      status: 204,
      body: z.strictObject({ current: GivenPassword, password: NewPassword }),
      errors: ['forbidden', 'wrong_credentials', 'rate_limited'],
      async handle(call, { body }) {
        if (call.account().via !== 'session')
          throw new PlaneError('forbidden', 'A password is changed in a browser that is signed in.');
        await signIn.changePassword(call, body);
      },
    }),
    route({
      id: 'auth.logout',
      method: 'POST',
      path: '/api/v1/auth/logout',
      summary: 'End the session of the cookie',
      tag: 'auth',
      access: 'anyone',
      status: 204,
      handle: async (call) => void (await sessions.end(call)),
    }),
    route({
      id: 'me.get',
      method: 'GET',
      path: '/api/v1/me',
      summary: 'Say who is signed in, and in which organisation',
      tag: 'auth',
      access: 'person',
      answer: MeAnswer,
      handle: async (call) => describeAccount(rooms, call.account()),
    }),
    deleteAccountRoute(rooms),
    route({
      id: 'session.organization',
      method: 'POST',
      path: '/api/v1/session/organization',
      summary: 'Choose the organisation the session acts in',
      tag: 'auth',
      access: 'person',
      body: z.strictObject({ organization: z.string().max(64).describe('Its id.') }),
      answer: MeAnswer,
      errors: ['forbidden', 'not_found'],
      async handle(call, { body }) {
        const account = call.account();
        const organizationId = body.organization;
        if (account.via !== 'session')
          throw new PlaneError('forbidden', 'This credential is for one organisation. Make another for another one.');
        const role = await access.require(account, organizationId, 'organization:read');
        await sessions.chooseOrganization(account.credentialId, organizationId);
        return describeAccount(rooms, { ...account, organizationId, role });
      },
    }),
  ];
}
