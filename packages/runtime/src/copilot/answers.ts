import { BoxError } from '../errors.ts';
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

/** Of a write that had begun when the process ended. */
export function toBegunBefore(operation: string, hasRun: boolean): unknown {
  if (hasRun)
    return {
      ran: true,
      note: `"${operation}" ran before the box was restarted, and was not run again. Read what came of it.`,
    };
  const message = `The box was restarted while "${operation}" was called. It was not called again, and may have run: look first.`;
  throw new BoxError('confirmation_required', message, { details: { reason: 'interrupted', call: { operation } } });
}
