import type { BoxError } from '../errors.ts';
import { answerJson, toErrorHeaders } from '../http/answer.ts';
import type { ErrorShape } from '../http/app.ts';
import type { TurnEvent } from './events.ts';

/** How this wire answers what the box refuses. Its clients repeat 409 and 5xx, so what was decided says: do not. */
export const WIRE_A_ERRORS: ErrorShape = {
  prefix: '/wire-a/',
  answer: (error) => answerWireError(error.status, toWireError(error), toErrorHeaders(error)),
};

/** How this wire answers a turn that failed before it had output. */
export function answerFailure({ status, code, message, retryAfter }: TurnFailure): Response {
  const headers: Record<string, string> = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
  return answerWireError(status, toWireError({ status, code, message }), headers);
}

export interface TurnFailure extends Pick<Extract<TurnEvent, { type: 'error' }>, 'status' | 'code' | 'message'> {
  retryAfter?: number | undefined;
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

function answerWireError(status: number, body: object, headers: Record<string, string>): Response {
  const mayRepeat = (status === 429 || status === 503) && 'retry-after' in headers;
  return answerJson(status, body, mayRepeat ? headers : { ...headers, 'x-should-retry': 'false' });
}
