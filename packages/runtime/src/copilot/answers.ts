import { toBoxError } from '../http/answer.ts';
import type { Log } from '../log.ts';
import { toErrorResult, toResult } from '../mcp/result.ts';
import type { Outcome } from './once.ts';

/** What the model reads of a call: what it answered, or why it was refused. A bug is logged. */
export async function toAnswer(
  run: () => unknown,
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<unknown> {
  try {
    return toResult(await run()).structuredContent;
  } catch (thrown) {
    // The turn has been cancelled: no one reads on.
    signal.throwIfAborted();
    const error = toBoxError(thrown);
    if (error.code === 'internal') log.error('A call of the copilot failed.', { error: error.cause });
    return toErrorResult(error).structuredContent;
  }
}

/** Of a write that had begun when the process ended, and has run, or a part of it has. */
export function toRun(operation: string, outcome: Exclude<Outcome, { ran: false }>): unknown {
  if (outcome.ran === 'in part') {
    const { done, of } = outcome;
    const note = `The box was restarted while "${operation}" ran. ${done} of ${of} are done, the others are as they were. Call it again for those.`;
    return { ran: 'in part', done, of, note };
  }
  const { answer } = outcome;
  const note = `"${operation}" ran before the box was restarted, and was not run again.`;
  return answer === undefined ? { ran: true, note: `${note} Read what came of it.` } : { ran: true, note, answer };
}
