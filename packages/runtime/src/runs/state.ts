import { z } from 'zod';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { isFinal } from '../engine/journal/run.ts';
import { stateOf } from '../engine/run/published-state.ts';
import { RECONNECT, RETRY_HINT } from '../http/sse.ts';
import type { Frames } from '../http/sse.ts';
import { toJsonValue } from '../json-value.ts';
import { RunStatus } from './run.ts';

/** What a run says it is at. */
export const RunState = z.object({
  runId: z.uuid().describe('Of the last run of the chain'),
  status: RunStatus,
  state: z.unknown().describe('What it has published last; null: nothing'),
});
export type RunState = z.infer<typeof RunState>;

export function toRunState(row: RunRow): RunState {
  return { runId: row.runId, status: row.status, state: toJsonValue(stateOf(row) ?? null) };
}

/** `state` for each that is published, the present one first, and `end` once the last run of the chain is over. */
export async function* streamState(
  { journal, engine }: { journal: Pick<Journal, 'getLastRun'>; engine: Pick<Engine, 'nextChange' | 'closing'> },
  first: string,
  signal: AbortSignal,
): Frames & AsyncGenerator<string> {
  const stop = AbortSignal.any([signal, engine.closing]);
  let runId = first;
  let sent: string | null | undefined;
  yield RECONNECT;
  while (!signal.aborted) {
    const changed = engine.nextChange(runId, stop);
    const run = await journal.getLastRun(runId);
    const isOther = run !== undefined && run.runId !== runId;
    if (run && run.state !== sent) yield toEvent('state', toRunState(run));
    sent = run?.state;
    if (!run || isFinal(run.status)) return yield toEvent('end', run ? toRunState(run) : { runId, status: 'deleted' });
    if (engine.closing.aborted) return yield RETRY_HINT;
    runId = run.runId;
    if (!isOther) await changed;
  }
}

// --- internal ---

function toEvent(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
