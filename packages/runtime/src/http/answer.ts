import { FastResponse } from 'srvx';
import { BoxError, findBoxError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';

/** A Response that the server writes as it is, without making a web stream of it. */
export function answerJson(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new FastResponse(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  });
}

/** The error body of every route that speaks no protocol of someone else. */
export function answerError(error: BoxError, requestId: string): Response {
  const body = { code: error.code, message: error.message, details: error.details, requestId };
  return answerJson(error.status, body, toErrorHeaders(error));
}

/** What the caller is sent of a thrown thing: a BoxError as it is, anything else as a bare `internal`. */
export function toBoxError(thrown: unknown): BoxError {
  const known = findBoxError(thrown);
  if (known) return known;
  const status = (thrown as { status?: unknown } | null)?.status;
  if (status === 404) return new BoxError('not_found', 'There is no such route.');
  if (status === 400)
    return new BoxError(
      'invalid_request',
      'The request cannot be read: a "%" of its URL begins no escape, or a header is broken.',
    );
  return new BoxError('internal', 'Something went wrong inside the box. The log of this request says what.', {
    cause: thrown,
  });
}

/** What an error says in headers: the methods that are allowed, how long to wait. */
export function toErrorHeaders(error: BoxError): Record<string, string> {
  const { allow, retryAfter = RETRY_AFTER[error.code] } = (error.details ?? {}) as {
    allow?: string[];
    retryAfter?: number;
  };
  return {
    ...(error.code === 'method_not_allowed' && allow ? { allow: allow.join(', ') } : {}),
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
  };
}

// --- internal ---

/** Seconds after which it makes sense to ask again, where the error says none of its own. */
const RETRY_AFTER: Partial<Record<ErrorCode, number>> = { store_unavailable: 1, store_full: 10 };
