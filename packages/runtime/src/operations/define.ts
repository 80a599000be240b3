import type { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import type { Caller } from '../auth/caller.ts';
import type { Rooms } from '../rooms.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What a handler may know about the request besides its input. */
export interface CallContext {
  caller: Caller;
  /** Aborts when the caller goes away. */
  signal: AbortSignal;
}

/**
 * One action of the box, written once; HTTP, and every other surface, are projections of this object.
 */
export interface OperationDefinition<I extends z.ZodType, O extends z.ZodType> {
  /** `<room>.<action>`: the stable name on every surface. */
  id: string;
  /** One present-tense sentence, read by people and by models. */
  summary: string;
  /** `POST /api/runs/:id/cancel` */
  route: `${Method} /${string}`;
  tag: string;
  kind: 'read' | 'write';
  /** The permission a caller needs; `none` for routes that take no credential. */
  permission: string;
  /** An API key may call it too: the handler asks `requireGrant` whether this one may. */
  keys?: true;
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
  /** Headers that are part of the input: header name, in lower case, to member. */
  headers?: Record<string, string>;
  /** Path parameters, query, body and declared headers arrive as one object. */
  input: I;
  output: O;
  /** `sse`: the handler answers the frames of an event stream. Default `json`. */
  answer?: 'json' | 'sse';
  handle(rooms: Rooms, input: z.output<I>, context: CallContext): Promise<z.output<O>> | z.output<O>;
}

/** An operation as the surfaces see it. */
export type Operation = Omit<OperationDefinition<z.ZodType, z.ZodType>, 'handle'> & {
  handle(rooms: Rooms, input: unknown, context: CallContext): unknown;
};

export function operation<I extends z.ZodType, O extends z.ZodType>(definition: OperationDefinition<I, O>): Operation {
  return definition as unknown as Operation;
}

/** The two halves of a route. */
export function splitRoute(route: string): { method: Method; path: string } {
  const space = route.indexOf(' ');
  return { method: route.slice(0, space) as Method, path: route.slice(space + 1) };
}
