import { describe, expect, test } from 'vitest';
import { startProvider } from './_oidc-provider.ts';
import type { Provider } from './_oidc-provider.ts';
import { readSettings } from '../src/config.ts';
import { resetPassword } from '../src/recovery.ts';
import { addPerson, ask, cookieOf, logIn, PASSWORD, signUpFirst } from './_people.ts';
import { makeClock, makeStore, SECRET_KEY, startPlane, STORES } from './_setup.ts';
import type { RunningPlane } from './_setup.ts';

/** A browser: it keeps cookies by name and goes where it is sent, one step at a time. */
class Browser {
  readonly cookies = new Map<string, string>();
  readonly plane: RunningPlane;

  constructor(plane: RunningPlane) {
    this.plane = plane;
  }

  async go(url: string): Promise<Response> {
    const isOurs = url.startsWith(this.plane.url);
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: isOurs && cookie ? { cookie } : {} });
    for (const [, name = '', value = ''] of response.headers
      .getSetCookie()
      .map((one) => /^([^=]+)=([^;]*)/.exec(one) ?? []))
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    return response;
  }

  /** To the provider and back. Answers where it is sent at the end. */
  async signIn(query = ''): Promise<string> {
    return this.follow(`${this.plane.url}/api/v1/auth/oidc/start${query}`);
  }

  /** Links the account of a session with who is at the provider. Answers where it is sent at the end. */
  async link(cookie: string): Promise<string> {
    this.cookies.set('svc_session', cookie.replace('svc_session=', ''));
    const begun = await fetch(`${this.plane.url}/api/v1/auth/oidc/link`, {
      method: 'POST',
      headers: { cookie, origin: this.plane.url, 'content-type': 'application/json' },
      body: JSON.stringify({ returnTo: '/account' }),
    });
    const [flow = ''] = begun.headers.getSetCookie();
    this.cookies.set('svc_oidc', /^svc_oidc=([^;]+)/.exec(flow)?.[1] ?? '');
    return this.follow(((await begun.json()) as { url: string }).url);
  }

  async follow(url: string): Promise<string> {
    let location = url;
    while (location.startsWith('http')) location = (await this.go(location)).headers.get('location') ?? 'nowhere';
    return location;
  }

  get cookie(): string {
    return `svc_session=${this.cookies.get('svc_session') ?? ''}`;
  }

  me() {
    return ask(this.plane, 'GET /api/v1/me', { cookie: this.cookie });
  }
}

/** Where new people may choose a password as well. */
function start(provider: Provider, options: Parameters<typeof startPlane>[0] = {}): Promise<RunningPlane> {
  return startPlane({ ...options, env: { ...provider.env, PLANE_PASSWORD_SIGNUP: '1' } });
}

describe.each(STORES)('sign-in at a provider, on %s', (store) => {
  test('the first person becomes owner, and comes back as the same account under another address', async () => {
    const provider = await startProvider();
    const plane = await start(provider, { store });
    const methods = async () => (await ask(plane, 'GET /api/v1/auth/methods')).body;
    expect(await methods()).toStrictEqual({ signup: 'open', password: true, oidc: true, hasPeople: false });
    const browser = new Browser(plane);
    expect(await browser.signIn('?returnTo=/device%3Fuser_code%3DBCDF')).toBe('/device?user_code=BCDF');
    expect(browser.cookies.has('svc_oidc')).toBe(false);
    const { body } = await browser.me();
    expect(body).toMatchObject({ user: { email: 'ada@example.com', name: 'Ada' }, organization: { role: 'owner' } });
    expect(await methods()).toMatchObject({ signup: 'invited', hasPeople: true });
    provider.person.email = 'ada.new@example.com';
    const other = new Browser(plane);
    expect(await other.signIn()).toBe('/');
    expect((await other.me()).body.user).toStrictEqual(body.user);
  });

  test('after the first only who was invited gets an account, in every organisation that invites', async () => {
    const provider = await startProvider();
    const plane = await start(provider, { store });
    const ada = await signUpFirst(plane);
    provider.person = { sub: 'u2', email: 'Bo@Example.com', email_verified: true };
    expect(await new Browser(plane).signIn()).toBe('/login?error=signup_closed');
    const path = `/api/v1/orgs/${ada.organizationId}/invites`;
    await ask(plane, `POST ${path}`, { cookie: ada.cookie, body: { email: 'bo@example.com', role: 'approver' } });
    const browser = new Browser(plane);
    expect(await browser.signIn()).toBe('/');
    expect((await browser.me()).body).toMatchObject({
      user: { email: 'bo@example.com', name: 'bo' },
      organization: { id: ada.organizationId, role: 'approver' },
    });
    expect((await ask(plane, `GET ${path}`, { cookie: ada.cookie })).body.items).toStrictEqual([]);
    expect((await logIn(plane, 'bo@example.com', 'no password was set')).status).toBe(401);
  });

  test('where new people come by the provider alone, no one takes an address by an invite for it', async () => {
    const provider = await startProvider();
    const env = { ...provider.env, ...(await makeStore(store)) };
    const plane = await startPlane({ env: { ...env, PLANE_PASSWORD_SIGNUP: '1' } });
    const ada = await signUpFirst(plane);
    const path = `/api/v1/orgs/${ada.organizationId}/invites`;
    const invite = async (email: string) =>
      (await ask(plane, `POST ${path}`, { cookie: ada.cookie, body: { email, role: 'viewer' } })).body.token;
    const token = await invite('bo@example.com');
    await plane.close();
    // As it is unless something else is said.
    const strict = await startPlane({ env });
    expect((await ask(strict, 'GET /api/v1/auth/methods')).body).toMatchObject({ signup: 'provider', hasPeople: true });
    const squatter = { email: 'bo@example.com', password: PASSWORD, name: 'Eve', invite: token };
    const refused = await ask(strict, 'POST /api/v1/auth/signup', { body: squatter });
    expect([refused.status, refused.body.code]).toStrictEqual([403, 'signup_closed']);
    // Who has the address has its invites with it, and who had a password before signs in as before.
    provider.person = { sub: 'u2', email: 'bo@example.com', email_verified: true };
    const browser = new Browser(strict);
    expect(await browser.signIn()).toBe('/');
    expect((await browser.me()).body).toMatchObject({ organization: { id: ada.organizationId, role: 'viewer' } });
    expect((await logIn(strict, ada.email)).status).toBe(200);
  });

  test('an address that was squatted is given to its owner, by the operator of the control plane', async () => {
    const provider = await startProvider();
    const env = { ...provider.env, ...(await makeStore(store)) };
    const plane = await startPlane({ env: { ...env, PLANE_PASSWORD_SIGNUP: '1' } });
    const ada = await signUpFirst(plane);
    const squatted = await addPerson(plane, ada, { email: 'bo@example.com', role: 'viewer' });
    // Who has taken it keeps a way back in: a token, and a person of the provider that it is linked with.
    const token = (await ask(plane, 'POST /api/v1/tokens', { cookie: squatted.cookie, body: { name: 'ci' } })).body
      .token;
    provider.person = { sub: 'u9', email: 'eve@example.com', email_verified: true };
    const eve = new Browser(plane);
    expect(await eve.link(squatted.cookie)).toBe('/account');
    provider.person = { sub: 'u2', email: 'bo@example.com', email_verified: true };
    expect(await new Browser(plane).signIn()).toBe('/login?error=account_exists');
    const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...env });
    if (!full) throw new Error('The full mode has a store.');
    const { password } = await resetPassword(full, 'bo@example.com');
    expect((await ask(plane, 'GET /api/v1/me', { cookie: squatted.cookie })).status).toBe(401);
    expect((await logIn(plane, 'bo@example.com')).status).toBe(401);
    expect((await ask(plane, 'GET /api/v1/me', { token })).status).toBe(401);
    provider.person = { sub: 'u9', email: 'eve@example.com', email_verified: true };
    expect(await eve.signIn()).toBe('/login?error=signup_closed');
    const handedOver = await logIn(plane, 'bo@example.com', password);
    expect(handedOver.body.user.id).toBe(squatted.userId);
    provider.person = { sub: 'u2', email: 'bo@example.com', email_verified: true };
    const bo = new Browser(plane);
    expect(await bo.link(cookieOf(handedOver))).toBe('/account');
    expect(await new Browser(plane).signIn()).toBe('/');
  });

  test('where the first person came by the provider, an insider with an organisation of their own takes no address', async () => {
    const provider = await startProvider();
    const plane = await startPlane({ store, env: { ...provider.env, PLANE_OPEN_ORGANIZATIONS: '1' } });
    expect((await ask(plane, 'GET /api/v1/auth/methods')).body).toMatchObject({ signup: 'provider', hasPeople: false });
    const signUp = (email: string, invite?: string) =>
      ask(plane, 'POST /api/v1/auth/signup', { body: { email, password: PASSWORD, name: 'Eve', invite } });
    // Nor is the control plane the first stranger's.
    expect((await signUp('eve@example.com')).body.code).toBe('signup_closed');
    const [ada, eve, bo] = [new Browser(plane), new Browser(plane), new Browser(plane)];
    expect(await ada.signIn()).toBe('/');
    const acme = (await ada.me()).body.organization.id;
    const invite = async ({ cookie }: Browser, organization: string, email: string) =>
      (
        await ask(plane, `POST /api/v1/orgs/${organization}/invites`, {
          cookie,
          body: { email, role: 'viewer' },
        })
      ).body.token;
    await invite(ada, acme, 'eve@example.com');
    provider.person = { sub: 'u2', email: 'eve@example.com', email_verified: true };
    expect(await eve.signIn()).toBe('/');

    const own = (await ask(plane, 'POST /api/v1/orgs', { cookie: eve.cookie, body: { name: 'Own' } })).body.id;
    const token = await invite(eve, own, 'bo@example.com');
    expect((await signUp('bo@example.com', token)).body.code).toBe('signup_closed');
    // Neither does who is signed in become that person: not by the link, and not by an address at the provider that is not proved.
    const accept = (given: string) =>
      ask(plane, 'POST /api/v1/invites/accept', { cookie: eve.cookie, body: { token: given } });
    const acmes = await invite(ada, acme, 'bo@example.com');
    expect([(await accept(token)).body.code, (await accept(acmes)).body.code]).toStrictEqual([
      'invite_invalid',
      'invite_invalid',
    ]);
    provider.person = { sub: 'u2', email: 'bo@example.com', email_verified: true };
    expect(await eve.signIn()).toBe('/');
    expect((await eve.me()).body.user.email).toBe('eve@example.com');
    expect((await accept(acmes)).body.code).toBe('invite_invalid');

    provider.person = { sub: 'u3', email: 'bo@example.com', email_verified: true };
    expect(await bo.signIn()).toBe('/');
    expect((await bo.me()).body.organizations.map(({ name }: { name: string }) => name).toSorted()).toStrictEqual([
      'Ada',
      'Own',
    ]);
  });

  test('an account that a link was enough for is matched to no one at the provider, and its holder to no other invite', async () => {
    const provider = await startProvider();
    const plane = await start(provider, { store });
    const ada = await signUpFirst(plane);
    const squatted = await addPerson(plane, ada, { email: 'bo@example.com', role: 'viewer' });
    const second = (await ask(plane, 'POST /api/v1/orgs', { ...ada, body: { name: 'Second' } })).body.id;
    const invite = { ...ada, body: { email: 'bo@example.com', role: 'owner' } };
    expect((await ask(plane, `POST /api/v1/orgs/${second}/invites`, invite)).status).toBe(201);
    const memberships = async (credential: { cookie: string }) =>
      (await ask(plane, 'GET /api/v1/me', credential)).body.organizations.map(({ name }: { name: string }) => name);
    // The password and the address alone bring no membership: the link of that invite does.
    expect(await memberships({ cookie: cookieOf(await logIn(plane, 'bo@example.com')) })).toStrictEqual(['Acme']);
    // Nor does a person of the provider who is linked with it, and has proved another address.
    provider.person = { sub: 'u9', email: 'eve@example.com', email_verified: true };
    const browser = new Browser(plane);
    expect(await browser.link(squatted.cookie)).toBe('/account');
    expect(await browser.signIn()).toBe('/');
    expect(await memberships(browser)).toStrictEqual(['Acme']);
    // Who has the address is not signed in to it.
    provider.person = { sub: 'u2', email: 'bo@example.com', email_verified: true };
    expect(await new Browser(plane).signIn()).toBe('/login?error=account_exists');
  });

  test('an account with a password is linked by who is signed in to it, never by its address', async () => {
    const provider = await startProvider();
    const plane = await start(provider, { store });
    const ada = await signUpFirst(plane);
    const browser = new Browser(plane);
    expect(await browser.signIn()).toBe('/login?error=account_exists');
    expect(await browser.link(ada.cookie)).toBe('/account');
    const other = new Browser(plane);
    expect(await other.signIn()).toBe('/');
    expect((await other.me()).body.user.id).toBe(ada.userId);
    const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'viewer' });
    expect(await browser.link(bo.cookie)).toBe('/login?error=account_exists');
  });
});

describe('a sign-in at a provider', () => {
  test('is refused without an address the provider says is the person’s', async () => {
    const provider = await startProvider();
    const plane = await start(provider);
    for (const wrong of [
      { email_verified: false },
      { email_verified: 'true' },
      { email_verified: undefined },
      { email: 1 },
    ]) {
      const { person } = provider;
      provider.person = { ...person, ...wrong };
      expect(await new Browser(plane).signIn()).toBe('/login?error=email_unverified');
      provider.person = person;
    }
    provider.person.saysLater = true;
    expect(await new Browser(plane).signIn()).toBe('/');
  });

  test('is refused for a token that is of another client, issuer, sign-in or time, or signed by another', async () => {
    const provider = await startProvider();
    const plane = await start(provider);
    const past = Math.floor(Date.now() / 1_000) - 3_600;
    for (const forged of [{ aud: 'other' }, { iss: 'https://evil.example' }, { nonce: 'other' }, { exp: past }]) {
      provider.forged = forged;
      const browser = new Browser(plane);
      expect(await browser.signIn()).toBe('/login?error=sign_in_failed');
      expect((await browser.me()).status).toBe(401);
    }
    provider.forged = {};
    provider.signsAsAnother = true;
    expect(await new Browser(plane).signIn()).toBe('/login?error=sign_in_failed');
  });

  test('ends in the browser that has begun it, once, within ten minutes', async () => {
    const provider = await startProvider();
    const clock = makeClock();
    const plane = await start(provider, { now: clock.now });
    const authorize = async (browser: Browser) => {
      const begun = await browser.go(`${plane.url}/api/v1/auth/oidc/start`);
      return (await browser.go(begun.headers.get('location') ?? '')).headers.get('location') ?? '';
    };
    const [mine, theirs] = [new Browser(plane), new Browser(plane)];
    const callback = await authorize(theirs);
    // A link to it, sent to another, signs that one in to no account of the sender.
    expect(await mine.follow(callback)).toBe('/login?error=sign_in_failed');
    await authorize(mine);
    expect(await mine.follow(callback)).toBe('/login?error=sign_in_failed');
    const late = await authorize(mine);
    clock.move(600_000);
    expect(await mine.follow(late)).toBe('/login?error=sign_in_failed');
    const flow = theirs.cookies.get('svc_oidc') ?? '';
    clock.move(-600_000);
    expect(await theirs.follow(callback)).toBe('/');
    theirs.cookies.set('svc_oidc', flow);
    expect(await theirs.follow(callback)).toBe('/login?error=sign_in_failed');
  });

  test('goes nowhere but to paths of ours', async () => {
    const plane = await start(await startProvider());
    const wrong = [
      'https://evil.example',
      '//evil.example',
      String.raw`/\evil.example`,
      'javascript:alert(1)',
      'device',
    ];
    for (const returnTo of [
      ...wrong,
      '/\t/evil.example',
      '/..//evil.example',
      '',
      ' /x',
      `${plane.url}@evil.example`,
    ]) {
      const answer = await ask(plane, `GET /api/v1/auth/oidc/start?returnTo=${encodeURIComponent(returnTo)}`);
      expect([returnTo, answer.status, answer.body.code]).toStrictEqual([returnTo, 400, 'invalid_request']);
    }
  });

  test('says so when the provider is away, and works once it is back', async () => {
    const provider = await startProvider();
    provider.isDown = true;
    const plane = await start(provider);
    expect(await new Browser(plane).signIn()).toBe('/login?error=provider_unavailable');
    provider.isDown = false;
    expect(await new Browser(plane).signIn()).toBe('/');
  });

  test('there is none where no provider is set', async () => {
    const plane = await startPlane();
    expect((await ask(plane, 'GET /api/v1/auth/methods')).body.oidc).toBe(false);
    expect((await ask(plane, 'GET /api/v1/auth/oidc/start')).status).toBe(404);
  });
});
