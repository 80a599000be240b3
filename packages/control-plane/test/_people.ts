export const PASSWORD = 'a password that is long';

/** What a request was answered with. */
export interface Answer<Body = Record<string, unknown>> {
  status: number;
  body: Body;
  headers: Headers;
}

/** How it is asked: the cookie of a browser on our own pages, or a token. */
export interface Credential {
  cookie?: string;
  token?: string;
}

// oxlint-disable-next-line typescript/no-explicit-any -- What a test reads of an answer, it expects.
export type Loose = any;

/** A request as a page of the control plane sends it, or, with a token, as a program does. */
export async function ask(
  { url }: { url: string },
  line: string,
  { cookie, token, body }: Credential & { body?: unknown } = {},
): Promise<Answer<Loose>> {
  const [method = 'GET', path = ''] = line.split(' ');
  const response = await fetch(`${url}${path}`, {
    method,
    redirect: 'manual',
    headers: {
      ...(cookie === undefined ? {} : { cookie }),
      ...(token === undefined ? (method === 'GET' ? {} : { origin: url }) : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text), headers: response.headers };
}

/** The cookie an answer sets, as the browser sends it back. */
export function cookieOf({ headers }: Pick<Answer, 'headers'>): string {
  return headers.getSetCookie()[0]?.split(';')[0] ?? '';
}

export interface SignedInPerson {
  cookie: string;
  userId: string;
  email: string;
  organizationId: string;
}

/** The first person of a control plane: owner of "Acme". */
export async function signUpFirst(plane: { url: string }, email = 'ada@example.com'): Promise<SignedInPerson> {
  const answer = await ask(plane, 'POST /api/v1/auth/signup', {
    body: { email, password: PASSWORD, name: 'Ada', organization: 'Acme' },
  });
  if (answer.status !== 201)
    throw new Error(`The sign-up was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  const { user, organization } = answer.body;
  return { cookie: cookieOf(answer), userId: user.id, email, organizationId: organization.id };
}

/** An organisation of which `by`, who owns another, has made `owner` the one owner. Answers its id. */
export async function addOrganization(
  plane: { url: string },
  by: SignedInPerson,
  { cookie, email }: SignedInPerson,
): Promise<string> {
  const { id } = (await ask(plane, 'POST /api/v1/orgs', { cookie: by.cookie, body: { name: 'Own' } })).body;
  const invited = { cookie: by.cookie, body: { email, role: 'owner' } };
  const { token } = (await ask(plane, `POST /api/v1/orgs/${id}/invites`, invited)).body;
  await ask(plane, 'POST /api/v1/invites/accept', { cookie, body: { token } });
  const left = await ask(plane, `DELETE /api/v1/orgs/${id}/members/${by.userId}`, { cookie: by.cookie });
  if (left.status !== 204) throw new Error(`The organisation was not made: ${JSON.stringify(left.body)}`);
  return id;
}

export async function logIn(plane: { url: string }, email: string, password = PASSWORD): Promise<Answer<Loose>> {
  return ask(plane, 'POST /api/v1/auth/login', { body: { email, password } });
}

/** Someone the owner invites, who signs up with the invite. */
export async function addPerson(
  plane: { url: string },
  { cookie, organizationId }: Pick<SignedInPerson, 'cookie' | 'organizationId'>,
  { email, role }: { email: string; role: string },
): Promise<SignedInPerson> {
  const path = `/api/v1/orgs/${organizationId}/invites`;
  const invite = await ask(plane, `POST ${path}`, { cookie, body: { email, role } });
  const body = { email, password: PASSWORD, name: email.split('@')[0], invite: invite.body.token };
  const answer = await ask(plane, 'POST /api/v1/auth/signup', { body });
  if (answer.status !== 201)
    throw new Error(`The sign-up was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return { cookie: cookieOf(answer), userId: answer.body.user.id, email, organizationId };
}
