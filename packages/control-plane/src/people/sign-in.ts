import type { Audit } from '../audit/audit.ts';
import { PlaneError } from '../errors.ts';
import type { Account, Call } from '../http/route.ts';
import { acceptInvite, requireInvite, requireInvited } from '../invites/invites.ts';
import type { Invite } from '../invites/invites.ts';
import { createOrganization, listMemberships } from '../organizations/organizations.ts';
import type { Membership } from '../organizations/organizations.ts';
import type { Passwords } from '../passwords/passwords.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Db, Queries } from '../store/db.ts';
import { sql } from '../store/sql.ts';
import { createThrottle } from '../throttle/throttle.ts';
import { accountExists, addUser, findUser, findUserByEmail, hasUsers, setPassword } from './users.ts';
import type { User } from './users.ts';

export interface SignInOptions {
  db: Db;
  now(): number;
  audit: Audit;
  sessions: Sessions;
  passwords: Passwords;
  /** Whether new people may come with a password. */
  full: { passwordSignup: boolean };
}

export interface NewPerson {
  email: string;
  name: string;
  password: string;
  /** Of the first person: what its organisation is called. */
  organization?: string | undefined;
  /** The token of an invite, which everyone after the first person has. */
  invite?: string | undefined;
}

export interface SignIn {
  signUp(call: Call, person: NewPerson): Promise<Account>;
  logIn(call: Call, credentials: { email: string; password: string }): Promise<Account>;
  /** Throws `wrong_credentials` unless it is the password of who calls; an account without one needs none. */
  confirm(call: Call, password: string | undefined): Promise<void>;
  /** Other browsers and command lines of the person are signed out. Throws `wrong_credentials`. */
  changePassword(call: Call, passwords: { current: string; password: string }): Promise<void>;
}

/** How a person comes to a session. */
export function createSignIn(options: SignInOptions): SignIn {
  const { db, now, audit, passwords, full } = options;
  // Who has made an invite holds its token: what a refusal says of an address is said of few.
  const existing = createThrottle({
    db,
    now,
    kind: 'signup',
    most: EXISTING_A_MINUTE,
    message: 'There were too many sign-ups with invites for addresses that have an account.',
  });
  const throttle = createThrottle({
    db,
    now,
    kind: 'login',
    most: WRONG_LOGINS_A_MINUTE,
    message: 'There were too many wrong logins of this account, or from this address.',
  });
  return {
    async signUp(call, person) {
      if (!full.passwordSignup) throw providerOnly();
      // Before the password is worked on, and once more in the transaction: meanwhile someone else may have been first.
      const invited = await findPlace(db, person, call.now);
      if (invited) await requireNew(call, person, invited);
      const password = await passwords.hash(person.password, call.request.signal);
      return openSession(options, call, async (tx) => {
        const invite = await findPlace(tx, person, call.now);
        const { email, name, organization = name } = person;
        const user = await addUser(tx, { email, name, password, now: call.now });
        const membership = invite
          ? await acceptInvite(tx, { invite, user, audit, address: call.address, now: call.now })
          : await createOrganization(tx, { name: organization, userId: user.id, now: call.now });
        return { user, memberships: [membership], action: 'auth.signup' };
      });
    },
    async logIn(call, { email, password }) {
      const user = await findUserByEmail(db, email);
      const upgraded = await check(call, { email, password, user });
      if (!user) throw wrongCredentials();
      return openSession(options, call, async (tx) => {
        if (upgraded !== undefined)
          await tx.run(
            sql`update plane_users set password = ${upgraded} where id = ${user.id} and password = ${user.password}`,
          );
        return { user, memberships: await listMemberships(tx, user.id), action: 'auth.login' };
      });
    },
    async confirm(call, password) {
      const { userId, email } = call.account();
      const user = await findUser(db, userId);
      if (user?.password === null) return;
      if (password === undefined)
        throw new PlaneError('invalid_request', 'The request is not valid. "password": give that of the account.');
      await check(call, { email, password, user });
    },
    async changePassword(call, { current, password }) {
      const { userId, email, credentialId, organizationId } = call.account();
      await check(call, { email, password: current, user: await findUser(db, userId) });
      const hash = await passwords.hash(password, call.request.signal);
      await db.transaction(async (tx) => {
        await setPassword(tx, { userId, hash, keep: credentialId, now: call.now });
        const entry = { organizationId, action: 'auth.password', actor: email, target: email, address: call.address };
        await audit.record(entry, tx);
      });
    },
  };

  /** Throws `account_exists`, or `rate_limited` where that was answered too often. */
  async function requireNew(call: Call, person: NewPerson, { email, invitedBy }: Invite): Promise<void> {
    const subjects = [`inviter ${invitedBy}`, ...(call.address === undefined ? [] : [`address ${call.address}`])];
    await existing.require(subjects);
    // Again after it: of sign-ups made at once no more are answered than of those made one after the other.
    if (!(await findUserByEmail(db, email))) return existing.require(subjects);
    // It may be the account that the same invite has made meanwhile.
    await findPlace(db, person, call.now);
    await existing.count(subjects);
    throw accountExists(email);
  }

  /** Answers what to store in place of the password, if anything. Throws `wrong_credentials`, `rate_limited`. */
  async function check(call: Call, { email, password, user }: Checking): Promise<string | undefined> {
    const subjects = [`account ${email}`, ...(call.address === undefined ? [] : [`address ${call.address}`])];
    const require = () => throttle.require(subjects);
    await require();
    const checked = await passwords.check(password, user?.password ?? undefined, {
      signal: call.request.signal,
      before: require,
    });
    // Of guesses that are made at once no more are answered than of those made one after the other.
    await require();
    if (checked.isRight) return checked.upgraded;
    await throttle.count(subjects);
    // As much work for an address there is no account of.
    const [first] = await listMemberships(db, user?.id ?? '');
    await audit.record({
      organizationId: first?.id,
      action: 'auth.login_failed',
      actor: user ? email : '',
      target: '',
      address: call.address,
    });
    throw wrongCredentials();
  }
}

interface Checking {
  email: string;
  password: string;
  /** Undefined: there is no account of the address. */
  user: User | undefined;
}

export interface SignedIn {
  user: User;
  memberships: readonly Membership[];
  action: string;
}

/** Does `work`, and opens a session for whom it answers, in one transaction: there is no account without the rest. */
export async function openSession(
  { db, audit, sessions }: Pick<SignInOptions, 'db' | 'audit' | 'sessions'>,
  call: Call,
  work: (tx: Queries) => Promise<SignedIn>,
): Promise<Account> {
  const opened = await db.transaction(async (tx) => {
    const { user, memberships, action } = await work(tx);
    const [first] = memberships;
    const secret = await sessions.open(call, { userId: user.id, organizationId: first?.id }, tx);
    const { email } = user;
    await audit.record({ organizationId: first?.id, action, actor: email, target: email, address: call.address }, tx);
    return { user, first, secret };
  });
  const { first } = opened;
  sessions.give(call, opened.secret);
  const { id: userId, email, name } = opened.user;
  const account = { userId, email, name, via: 'session', credentialId: '' } as const;
  return first ? { ...account, organizationId: first.id, role: first.role } : account;
}

export function signUpClosed(): PlaneError {
  return new PlaneError(
    'signup_closed',
    'New people are invited: ask an owner or an admin of an organisation here for an invite, and sign up with it.',
  );
}

// --- internal ---

const WRONG_LOGINS_A_MINUTE = 5;
const EXISTING_A_MINUTE = 5;

/** Undefined: it is the first person. Throws `signup_closed`, `invite_invalid`. */
async function findPlace(queries: Queries, person: NewPerson, now: number): Promise<Invite | undefined> {
  const { email, invite: token, organization } = person;
  if (token === undefined) {
    if (await hasUsers(queries)) throw signUpClosed();
    return undefined;
  }
  if (organization !== undefined)
    throw new PlaneError('invalid_request', 'An invite is to an organisation: leave out "organization".');
  const invite = await requireInvite(queries, token, now);
  requireInvited(invite, email);
  return invite;
}

function providerOnly(): PlaneError {
  return new PlaneError('signup_closed', 'New people sign in with the identity provider here, and have no password.');
}

function wrongCredentials(): PlaneError {
  return new PlaneError('wrong_credentials', 'The e-mail address or the password is wrong.');
}
