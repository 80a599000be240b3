import { answerOf, any, constant, extend, object } from '../payload/payload.ts';
import { toPlainText } from '../terminal/style.ts';
import type { StreamForm } from './stream.ts';

/** Each state a run publishes. */
export const STATE_STREAM: StreamForm = {
  lines: extend(answerOf('runs.state'), { type: constant('state') }),
  human: (_event, { state }) => toLine(state),
};

/** Each frame of a stream. */
export const RUN_STREAM: StreamForm = {
  lines: object({ type: constant('frame'), value: any('What was written') }),
  human: (_event, { value }) => toLine(value),
};

// --- internal ---

/** A text as it is, anything else as JSON in one line. */
function toLine(value: unknown): string {
  return toPlainText(typeof value === 'string' ? value : JSON.stringify(value));
}
