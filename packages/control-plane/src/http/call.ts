import { answerJson } from '../../../runtime/src/http/answer.ts';
import { isJsonType, readBody, readJson } from '../../../runtime/src/http/body.ts';
import { BoxError } from '../../../runtime/src/errors.ts';
import { PlaneError } from '../errors.ts';
import { cookieName, readCookie } from './cookies.ts';
import type { Account, Call, Input, Person, Route } from './route.ts';

/** What every request passes before it comes to its route. */
export interface Door {
  /** Without a slash at the end. */
  publicUrl(): string;
  /** Whether its address was given to it. Otherwise its pages are those of whatever name a browser has for it. */
  isNamed: boolean;
  /** Who calls. Undefined: it shows no credential. Throws `unauthorized` for one that is not good. */
  authenticate(call: Call): Promise<Account | undefined>;
  /** Standalone: throws `unauthorized` unless the token was shown. */
  requireOperator(call: Call): Promise<void>;
}

/** Where it comes from, who calls, what is asked; then the route. */
export async function callRoute(one: Route, door: Door, call: Call): Promise<Response> {
  if (one.method !== 'GET') {
    requireOwnOrigin(one, door, call);
    if (one.bodyType !== 'form') requireJsonType(call.request);
  }
  const account = one.access === 'person' ? await requireAccount(door, call) : undefined;
  if (one.access === 'operator') await door.requireOperator(call);
  const known = account ? { ...call, account: () => account, person: () => toPerson(account) } : call;
  const answer = await one.handle(known, await readInput(one, call));
  if (answer instanceof Response) return answer;
  const status = one.status ?? 200;
  return status === 204 ? new Response(null, { status }) : answerJson(status, answer);
}

/** Throws `origin_not_allowed` for a write that a page of another site may have sent. */
export function requireOwnOrigin({ origin = 'cookie' }: Pick<Route, 'origin'>, door: OwnPages, call: Call): void {
  const { headers } = call.request;
  const publicUrl = door.publicUrl();
  if (origin === 'never' || headers.has('authorization')) return;
  if (origin === 'cookie' && readCookie(headers, cookieName(publicUrl.startsWith('https:'))) === undefined) return;
  if (isOwnPage(door, headers)) return;
  throw new PlaneError(
    'origin_not_allowed',
    `This request may come from pages of ${publicUrl} alone. From elsewhere, send a token as "Authorization: Bearer <token>".`,
  );
}

export type OwnPages = Pick<Door, 'publicUrl' | 'isNamed'>;

/** Whether a browser says that a page of ours asks. */
export function isOwnPage({ publicUrl, isNamed }: OwnPages, headers: Headers): boolean {
  const from = headers.get('origin');
  if (from === null) return headers.get('sec-fetch-site') === 'same-origin';
  if (from === publicUrl()) return true;
  // A name that leads here by a trick has no cookie of ours with it: those belong to the name they were given under.
  return !isNamed && from.replace(/^https?:\/\//, '') === headers.get('host');
}

// --- internal ---

const MOST_BYTES = 65_536;

/** A form, which pages of other sites can send, is refused where no body is read, too. */
function requireJsonType({ headers }: Request): void {
  const type = headers.get('content-type');
  if (type === null || isJsonType(type)) return;
  throw new BoxError('unsupported_media_type', 'Send the body with "content-type: application/json".');
}

async function requireAccount(door: Door, call: Call): Promise<Account> {
  const account = await door.authenticate(call);
  if (account) return account;
  throw new PlaneError(
    'unauthorized',
    'You are not signed in. Sign in, or send a token as "Authorization: Bearer <token>".',
  );
}

function toPerson(account: Account): Person {
  const { organizationId, role } = account;
  if (organizationId !== undefined && role !== undefined) return { ...account, organizationId, role };
  throw new PlaneError('no_organization', 'You are a member of no organisation. Ask an owner of one for an invite.');
}

async function readInput(one: Route, { request, event }: Call): Promise<Input<never>> {
  const params = Object.fromEntries(
    Object.entries(event.context.params ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]),
  );
  const query = one.query
    ? parse(one.query, readPairs(event.url.searchParams), 'the query')
    : ({} as Record<string, string | undefined>);
  return { params, query, body: (await readRouteBody(one, request)) as never };
}

async function readRouteBody(one: Route, request: Request): Promise<unknown> {
  if (!one.body) return undefined;
  if (one.bodyType === 'form') {
    if (!/^application\/x-www-form-urlencoded\b/i.test(request.headers.get('content-type') ?? ''))
      throw new BoxError('unsupported_media_type', 'Send the body as "application/x-www-form-urlencoded".');
    const text = (await readBody(request, MOST_BYTES)).toString('utf8');
    return parse(one.body, readPairs(new URLSearchParams(text)), 'the body');
  }
  if (!isJsonType(request.headers.get('content-type')))
    throw new BoxError('unsupported_media_type', 'Send the body with "content-type: application/json".');
  return parse(one.body, await readJson(request, { limit: MOST_BYTES, emptyAs: {} }), 'the body');
}

/** Throws `invalid_request` for a parameter that is given twice: who reads the first and who the last would differ. */
function readPairs(given: URLSearchParams): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const [name, value] of given) {
    if (Object.hasOwn(pairs, name)) throw new PlaneError('invalid_request', `The parameter "${name}" is given twice.`);
    Object.defineProperty(pairs, name, { value, enumerable: true });
  }
  return pairs;
}

function parse<T>(
  schema: {
    safeParse(value: unknown): { success: true; data: T } | { success: false; error: { issues: readonly Issue[] } };
  },
  value: unknown,
  what: string,
): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => ({ path: path.map(toSegment), message }));
  const [first] = issues;
  const place = first && first.path.length > 0 ? `"${first.path.join('.')}": ` : `${what}: `;
  throw new PlaneError('invalid_request', `The request is not valid. ${place}${first?.message.replace(/\.$/, '')}.`, {
    details: { issues },
  });
}

interface Issue {
  path: readonly PropertyKey[];
  message: string;
}

function toSegment(key: PropertyKey): string | number {
  return typeof key === 'symbol' ? String(key) : key;
}
