import type { z } from 'zod';
import type { ErrorCode } from '../errors.ts';

/** Whose shape the errors of a route have. */
export type ErrorFamily = 'box' | 'wire-a' | 'wire-b' | 'json-rpc';

/** What a route that is no operation says about itself in the OpenAPI document. */
export interface RouteDoc {
  /** Unique among the operation ids too. */
  id: string;
  tag: string;
  /**
   * `none`: no credential. `key`: an API key, from either header. `caller`: whatever lets a person or a program in.
   * `signature`: the control plane signs the call. `sender`: an outside service shows what it has agreed on with an operator.
   */
  security: 'none' | 'key' | 'caller' | 'signature' | 'sender';
  /** Default `box`. */
  family?: ErrorFamily;
  /** Codes besides those that any route may answer. */
  errors?: readonly ErrorCode[];
  /** Request headers and query parameters it reads: name to meaning. */
  headers?: Record<string, string>;
  query?: Record<string, string>;
  /** Undefined: none. `any`: of whatever type. */
  body?: z.ZodType | 'any';
  /** By status. */
  answers: Record<number, AnswerDoc>;
}

export interface AnswerDoc {
  description: string;
  /** Media type to the schema of what it holds; undefined: text. None: no body. */
  content?: Record<string, z.ZodType | undefined>;
}
