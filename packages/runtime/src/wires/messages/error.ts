import type { BoxError } from '../../errors.ts';
import { toErrorHeaders } from '../../http/answer.ts';
import type { ErrorShape } from '../../http/app.ts';
import { answerWireError, toRetryAfter } from '../wire-error.ts';
import type { TurnFailure } from '../wire-error.ts';

/** How this wire answers what the box refuses. */
export const WIRE_B_ERRORS: ErrorShape = {
  prefix: '/wire-b/',
  client: {
    base: '/wire-b, or in /wire-b/v1 for a client that adds no /v1',
    at: '/wire-b/v1',
    asks: /\/messages(?:\/count_tokens)?$/,
  },
  answer: (error, requestId) => answer(error.status, toMessageError(error, requestId), toErrorHeaders(error)),
};

/** How this wire answers a turn that failed before it had output. */
export function answerMessageFailure(failure: TurnFailure, requestId: string): Response {
  return answer(failure.status, toMessageError(failure, requestId), toRetryAfter(failure));
}

/** The error object of this wire, the same in an answer and in a stream. Clients show `details.error_code` as the code. */
export function toMessageError({ status, code, message, details }: ErrorSource, requestId: string): MessageError {
  const type = ERROR_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  return { type: 'error', error: { type, message, details: { ...details, error_code: code } }, request_id: requestId };
}

export interface MessageError {
  type: 'error';
  error: { type: string; message: string; details: { error_code: string; [detail: string]: unknown } };
  request_id: string;
}

// --- internal ---

interface ErrorSource extends Pick<TurnFailure, 'status' | 'code' | 'message'> {
  details?: BoxError['details'];
}

const ERROR_TYPES: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

function answer(status: number, body: MessageError, headers: Record<string, string>): Response {
  return answerWireError(status, body, { ...headers, 'request-id': body.request_id });
}
