import type { Journal } from '../../engine/journal.ts';
import type { RunRow } from '../../engine/journal/run.ts';
import { decode } from '../../engine/serialize.ts';
import type { TurnInput } from '../turn/input.ts';

/** The run of a sub-agent, and the call of the turn above that handed it its task. */
export interface TaskRun {
  run: RunRow;
  callId: string;
}

/** The tasks a turn has handed on, in the order in which it did. What its tools have begun is none. */
export async function listTasks(journal: Pick<Journal, 'listRuns'>, runId: string): Promise<TaskRun[]> {
  const runs = await journal.listRuns({ parentRunId: runId, kind: 'agent' }, { limit: 200 });
  return runs.reverse().flatMap((run) => {
    const { callId } = decode(run.input) as TurnInput;
    return callId === undefined ? [] : [{ run, callId }];
  });
}
