import type { H3Event, HTTPMethod } from 'h3';
import type { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import type { Mode } from '../config.ts';
import type { Role } from '../roles.ts';

/** Who calls, once its credential has been checked. */
export interface Account {
  userId: string;
  email: string;
  name: string;
  /** How: the dashboard's cookie, a session of `svc login`, or a personal access token. */
  via: 'session' | 'cli' | 'token';
  /** Of the cookie's session, the family of refresh tokens, or the personal token. */
  credentialId: string;
  /** The organisation it acts in, where it is in one. A `cli` or `token` credential is bound to it. */
  organizationId?: string;
  role?: Role;
}

/** An account that is a member of the organisation it acts in. */
export interface Person extends Account {
  organizationId: string;
  /** There, at this moment; of a personal token no more than that allows. */
  role: Role;
}

/** One request at a route. */
export interface Call {
  event: H3Event;
  request: Request;
  /** Of whoever has connected, as proxies are trusted. Undefined: it came over no socket. */
  address: string | undefined;
  /** Milliseconds since 1970. */
  now: number;
  /** Throws `unauthorized`: for routes whose `access` is `person` it never does. */
  account(): Account;
  /** The same, for what is done in an organisation. Throws `no_organization` for who is a member of none. */
  person(): Person;
  /** Headers of the answer, such as a cookie. */
  setHeader(name: string, value: string): void;
}

export type Access =
  /** No credential is asked for. */
  | 'anyone'
  /** A person who is signed in: 401 otherwise. */
  | 'person'
  /** Standalone: whoever has shown the token. */
  | 'operator';

/** A route that takes and answers JSON. */
export interface Route<Body = unknown> {
  /** As the OpenAPI document names it: `installations.create`. */
  id: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** `/api/v1/installations/:id` */
  path: string;
  /** One sentence in the present tense, without a full stop. */
  summary: string;
  tag: string;
  /** Absent: both. */
  mode?: Mode;
  access: Access;
  /** Which requests have to come from our own pages. `cookie`, the default: those with our cookie; `always`: also without. */
  origin?: 'cookie' | 'always' | 'never';
  /** JSON; `form`: as OAuth sends it, of which no parameter may be repeated. */
  bodyType?: 'json' | 'form';
  /** Unknown members are refused. */
  body?: z.ZodType<Body>;
  query?: z.ZodType<Record<string, string | undefined>>;
  /** Of a success. Default 200. */
  status?: 200 | 201 | 204;
  answer?: z.ZodType;
  errors?: readonly ErrorCode[];
  /** How an error is said. Default: `{code, message, details, requestId}`. */
  toErrorBody?(error: { code: string; message: string; status: number }): object;
  /** What it answers is sent as JSON, unless it is a Response. */
  handle(call: Call, input: Input<Body>): Promise<unknown>;
}

export interface Input<Body> {
  params: Record<string, string>;
  query: Record<string, string | undefined>;
  body: Body;
}

/** Something other than JSON: a page, a file, what is passed on. */
export interface RawRoute {
  method: HTTPMethod | 'ALL';
  path: string;
  mode?: Mode;
  handle(event: H3Event, call: Call): Promise<Response> | Response;
}

/** Infers the body of a route from its schema. */
export function route<Body = unknown>(given: Route<Body>): Route {
  return given as Route;
}
