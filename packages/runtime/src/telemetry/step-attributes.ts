import type { RunRow } from '../engine/journal/run.ts';
import { GEN_AI, RUN, STEP } from './names.ts';
import type { Attributes } from './span.ts';

/** Where in a run a span belongs. */
export function attributesOfStep(
  { runId, name: ofRun, sessionId }: RunRow,
  { call, kind, name, attempt }: { call: number; kind: string; name: string; attempt: number },
): Attributes {
  return {
    [RUN.id]: runId,
    [RUN.name]: ofRun,
    [STEP.id]: call,
    [STEP.kind]: kind,
    [STEP.name]: name,
    [STEP.attempt]: attempt,
    ...(sessionId === null ? {} : { [GEN_AI.conversation]: sessionId }),
  };
}
