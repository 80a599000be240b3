import { currentContext, currentRequest } from '../engine/context.ts';
import type { LogFields } from '../log.ts';

/** What is known of where a record is made: the run and its step, or the request. */
export function currentFields(): LogFields {
  const request = currentRequest();
  return request ? { requestId: request.requestId } : currentRunFields();
}

/** The same for the engine, which works for all runs at once, in the name of whichever request woke it. */
export function currentRunFields(): LogFields {
  const context = currentContext();
  if (!context) return {};
  const { runId, sessionId } = context.execution.run;
  return {
    runId,
    ...(sessionId === null ? {} : { sessionId }),
    ...(context.kind === 'step' ? { step: context.stepName } : {}),
  };
}
