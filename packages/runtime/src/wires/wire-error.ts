import { answerJson } from '../http/answer.ts';
import type { TurnEvent } from './events.ts';

/** A turn that failed before it had output. */
export interface TurnFailure extends Pick<Extract<TurnEvent, { type: 'error' }>, 'status' | 'code' | 'message'> {
  retryAfter?: number | undefined;
}

/** Clients of the chat wires repeat 409 and 5xx, so an answer says not to unless it says when. */
export function answerWireError(status: number, body: object, headers: Record<string, string>): Response {
  const mayRepeat = (status === 429 || status === 503) && 'retry-after' in headers;
  return answerJson(status, body, mayRepeat ? headers : { ...headers, 'x-should-retry': 'false' });
}

export function toRetryAfter({ retryAfter }: TurnFailure): Record<string, string> {
  return retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
}
