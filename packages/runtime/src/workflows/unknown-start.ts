import { newRunId } from '../engine/ids.ts';
import type { StartRequest } from '../engine/engine.ts';
import type { CreateResult } from '../engine/journal/starts.ts';
import { asOutcomeUnknown, BoxError, findBoxError, isOutcomeUnknown } from '../errors.ts';

/**
 * Makes a start, and says of one that the store has not answered that it may have been made, and how to find out. To take
 * it back instead would take a store that answers.
 * @param key as the caller has sent it
 */
export async function orUnknown(
  request: StartRequest,
  key: string | undefined,
  begin: (request: StartRequest) => Promise<CreateResult>,
): Promise<CreateResult> {
  // What waits in a queue becomes a run under an id of its own.
  const mayWait = request.serial !== undefined || request.timing !== undefined;
  const runId = mayWait ? undefined : newRunId();
  try {
    return await begin(runId === undefined ? request : { runId, ...request });
  } catch (error) {
    if (!isOutcomeUnknown(error)) throw error;
    const { message, details } = findBoxError(error) as BoxError;
    const what =
      key === undefined ? `${message.replace(/ Try again\.$/, '')} ${unkeyed(runId)}` : `${message} ${KEYED}`;
    const given = { ...details, mayHaveStarted: true, ...(runId === undefined ? {} : { runId }) };
    throw asOutcomeUnknown(new BoxError('store_unavailable', what, { cause: error, details: given }));
  }
}

// --- internal ---

const KEYED =
  'The start may have been made all the same: the same again with this Idempotency-Key finds it, or makes it.';

function unkeyed(runId: string | undefined): string {
  const look = runId === undefined ? 'look among its runs' : `look for run "${runId}"`;
  return `The start may have been made all the same: ${look} before it is sent again. With an Idempotency-Key it could be sent again as it is.`;
}
