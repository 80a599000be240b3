import { toBoxError } from '../http/answer.ts';
import type { Log } from '../log.ts';
import { toErrorResult, toResult } from '../mcp/result.ts';

/** What the model reads of a call: what it answered, or why it was refused. A bug is logged. */
export async function toAnswer(
  run: () => unknown,
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<unknown> {
  try {
    return toResult(await run()).structuredContent;
  } catch (thrown) {
    // The turn has been cancelled: nobody reads on.
    signal.throwIfAborted();
    const error = toBoxError(thrown);
    if (error.code === 'internal') log.error('A call of the copilot failed.', { error: error.cause });
    return toErrorResult(error).structuredContent;
  }
}

/** Of a write that had begun when the process ended, and has run. */
export function toRun(operation: string, answer: unknown): unknown {
  const note = `"${operation}" ran before the box was restarted, and was not run again.`;
  return answer === undefined ? { ran: true, note: `${note} Read what came of it.` } : { ran: true, note, answer };
}
