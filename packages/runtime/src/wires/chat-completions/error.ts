import type { BoxError } from '../../errors.ts';
import { toErrorHeaders } from '../../http/answer.ts';
import type { ErrorShape } from '../../http/app.ts';
import { answerWireError, toRetryAfter } from '../wire-error.ts';
import type { TurnFailure } from '../wire-error.ts';

/** How this wire answers what the box refuses. */
export const WIRE_A_ERRORS: ErrorShape = {
  prefix: '/wire-a/',
  client: { base: '/wire-a/v1', at: '/wire-a/v1', asks: /\/(?:chat\/completions|responses|embeddings)$/ },
  answer: (error) => answerWireError(error.status, toWireError(error), toErrorHeaders(error)),
};

/** How this wire answers a turn that failed before it had output. */
export function answerFailure(failure: TurnFailure): Response {
  return answerWireError(failure.status, toWireError(failure), toRetryAfter(failure));
}

/** The error object of this wire, the same in an answer and in a stream. */
export function toWireError({ status, code, message, details }: WireErrorSource): { error: WireError } {
  const type = ERROR_TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
  const param = typeof details?.param === 'string' ? details.param : null;
  return { error: { message, type, param, code: WIRE_CODES[code] ?? code } };
}

// --- internal ---

interface WireErrorSource extends Pick<TurnFailure, 'status' | 'code' | 'message'> {
  details?: BoxError['details'];
}

interface WireError {
  message: string;
  type: string;
  param: string | null;
  code: string;
}

const ERROR_TYPES: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
};

const WIRE_CODES: Record<string, string> = {
  unauthorized: 'invalid_api_key',
  agent_not_found: 'model_not_found',
};
