import type { Journal } from '../../engine/journal.ts';

/** The run, and those below it that wait for something: a person may be asked in any of them. */
export async function* listWaitingBelow(journal: Pick<Journal, 'listRuns'>, runId: string): AsyncGenerator<string> {
  yield runId;
  for (const child of await journal.listRuns({ parentRunId: runId, status: 'waiting' }, { limit: 50 }))
    yield* listWaitingBelow(journal, child.runId);
}
