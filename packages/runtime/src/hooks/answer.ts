import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import { isFinal } from '../engine/journal/run.ts';
import { decode } from '../engine/serialize.ts';
import { BoxError } from '../errors.ts';

export interface AnswerPlace {
  runId: string;
  /** The stream of the run a step writes the answer to. */
  stream: string;
}

export interface WaitOptions {
  engine: Engine;
  journal: Journal;
  waitMs: number;
}

/**
 * The answer a step gives to one call of a webhook, from whichever replica runs it: it comes through the journal.
 * Throws `webhook_unanswered` when the run ends without one, or the time is up: the call has been received all the same.
 */
export async function waitForAnswer({ runId, stream }: AnswerPlace, options: WaitOptions): Promise<Response> {
  const { engine, journal, waitMs } = options;
  const timer = new AbortController();
  const timeout = setTimeout(() => timer.abort(), waitMs);
  const stop = AbortSignal.any([timer.signal, engine.closing]);
  try {
    for (;;) {
      const changed = engine.nextChange(runId, stop);
      // The run is read before its answer: what it wrote before it ended is there.
      const run = await journal.getRun(runId);
      const [answer] = await journal.chunks.read(runId, stream, { after: 0, limit: 1 });
      if (answer) return decode(answer.payload) as Response;
      if (!run || isFinal(run.status)) throw unanswered('The run ended without an answer');
      if (stop.aborted) throw unanswered(`No answer came within ${waitMs / 1_000} s`);
      await changed;
    }
  } finally {
    clearTimeout(timeout);
    // No caller waits for a change any more.
    timer.abort();
  }
}

// --- internal ---

function unanswered(what: string): BoxError {
  return new BoxError('webhook_unanswered', `${what}. The call itself was received: do not repeat it.`, {
    details: { received: true },
  });
}
