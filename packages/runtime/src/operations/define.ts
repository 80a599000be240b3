import type { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import type { Caller } from '../auth/caller.ts';
import type { Permission } from '../auth/permissions.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What a handler may know about the request besides its input. */
export interface CallContext {
  caller: Caller;
  /** Aborts when the caller goes away. */
  signal: AbortSignal;
  /** The surface it came through. */
  source: 'http' | 'mcp' | 'copilot' | 'command';
  requestId?: string;
  /** Asked by a handler that settles by it, before its first change, with what it is about to change. Throws: it must not. */
  begin?(what: unknown): Promise<void>;
}

/** How much of a write has come about. */
export interface Reached {
  done: number;
  of: number;
}

/** How it is known of a write that had begun when its process ended whether it has run. */
export type Settles<R extends object, In> =
  /** It is called again under its idempotency key, and answers the same. */
  | 'again'
  /** All is as the call leaves it. */
  | { isDone(rooms: R, input: In, caller: Caller): Promise<boolean> }
  /** How much of what its handler has begun with, as JSON keeps it. */
  | { begun(rooms: R, what: unknown, input: In): Promise<Reached> };

/**
 * One action of the box, written once; HTTP, and every other surface, are projections of this object.
 */
export interface OperationDefinition<R extends object, I extends z.ZodType, O extends z.ZodType> {
  /** `<room>.<action>`: the stable name on every surface. */
  id: string;
  /** One present-tense sentence, read by people and by models. */
  summary: string;
  /** `POST /api/runs/:id/cancel` */
  route: `${Method} /${string}`;
  tag: string;
  kind: 'read' | 'write';
  /** The permission a caller needs; `none` for routes that take no credential. */
  permission: Permission | 'none';
  /** An API key may call it too: the handler asks `requireGrant` whether this one may. */
  keys?: true;
  /** Its stream does not end with a run: its room counts those that are open. */
  staysOpen?: true;
  /** False: a write that the activity log leaves out, because what it makes is a record of itself. */
  activity?: false;
  /**
   * Members of the input, the answer and what `before` answers that the caller alone may see: the activity log and the
   * question to a person leave them out.
   */
  secret?: readonly string[];
  /** A person is asked first where a model calls. */
  confirm?: boolean;
  /** `yes`, or why neither MCP nor the copilot may call it. */
  copilot: 'yes' | `no: ${string}`;
  /** The CLI verb, where there is one. */
  cli?: string;
  /** Codes it refuses with, besides those of its permission, its body and its input. */
  errors?: readonly ErrorCode[];
  /** HTTP status of success. Default 200. */
  status?: number;
  /** The whole body arrives as this member of the input, whatever its shape. */
  body?: string;
  /**
   * The body is a file of any type, of so many bytes at most, and arrives as this member; what is no header and not in the path
   * comes in the query. `header` must be sent: no form of a foreign page can, and no JSON type keeps those out here.
   */
  file?: { member: string; limit: number; header: string };
  /** Headers that are part of the input: header name, in lower case, to member. */
  headers?: Record<string, string>;
  /** Query parameters that may come more than once: the input has a list of each. */
  repeated?: readonly string[];
  /** Path parameters, query, body and declared headers arrive as one object. */
  input: I;
  output: O;
  /** `sse`: the handler answers the frames of an event stream. Default `json`. */
  answer?: 'json' | 'sse';
  /** What a write is about to change, for the activity log. Undefined: there is nothing yet. */
  before?(rooms: R, input: z.output<I>): Promise<unknown> | unknown;
  /** Of a write that a model may call. Absent: its first change is one of the box's database, with which a mark is committed. */
  settles?: Settles<R, z.output<I>>;
  handle(rooms: R, input: z.output<I>, context: CallContext): Promise<z.output<O>> | z.output<O>;
}

/** An operation as the surfaces see it; `R` is what its handler is handed. */
export type Operation<R extends object = object> = Omit<
  OperationDefinition<R, z.ZodType, z.ZodType>,
  'handle' | 'before' | 'settles'
> & {
  before?(rooms: R, input: unknown): unknown;
  settles?: Settles<R, unknown>;
  handle(rooms: R, input: unknown, context: CallContext): unknown;
};

/** The same, with what its callers see in types. */
export interface TypedOperation<
  R extends object,
  Id extends string,
  In,
  Out,
  Answer extends 'json' | 'sse',
> extends Operation<R> {
  id: Id;
  /** Of types alone: no value has it. */
  '~types'?: { input: In; output: Out; answer: Answer };
}

/**
 * What a room defines its operations with. `R` names the rooms that its handlers are handed, so a room imports those and
 * not all there are: `const operation = operationsOf<{ runs: Runs }>();`
 */
export function operationsOf<R extends object>() {
  return <
    const Id extends string,
    I extends z.ZodType,
    O extends z.ZodType,
    const Answer extends 'json' | 'sse' = 'json',
  >(
    definition: OperationDefinition<R, I, O> & { id: Id; answer?: Answer },
  ): TypedOperation<R, Id, z.input<I>, z.output<O>, Answer> =>
    definition as unknown as TypedOperation<R, Id, z.input<I>, z.output<O>, Answer>;
}

/** The two halves of a route. */
export function splitRoute(route: string): { method: Method; path: string } {
  const space = route.indexOf(' ');
  return { method: route.slice(0, space) as Method, path: route.slice(space + 1) };
}
