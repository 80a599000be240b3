import type { Engine } from '../engine/engine.ts';
import { RunCancelledError } from '../engine/errors.ts';
import type { BoxClient } from '../engine/handle.ts';
import type { Journal } from '../engine/journal.ts';
import { toIdKey } from '../engine/worker/new-run.ts';
import { isFinal } from '../engine/journal/run.ts';
import { wholeRun } from '../engine/large-values.ts';
import { CANCEL_WAIT_MS } from '../engine/limits.ts';
import type { Hooks } from '../hooks/hooks.ts';
import type { HookSignals } from '../hooks/signal.ts';

/** Rooms are handed as functions: the engine they stand on is made before them. */
export interface BoxClientOptions {
  journal: Journal;
  engine(): Engine;
  hooks(): Hooks;
  signals(): HookSignals;
}

const WAIT_MS = 60_000;
const PAGE = 100;

/** What `workflow/api` asks and does, through the same rooms the routes do. */
export function createBoxClient({ journal, engine, hooks, signals }: BoxClientOptions): BoxClient {
  /** A run that has continued as another is that one. */
  const findRun: BoxClient['findRun'] = async (id) => {
    const run = await journal.getLastRun(id);
    const queued = run ? undefined : await journal.queue.find(id);
    if (queued && 'run' in queued) return journal.getLastRun(queued.run.runId);
    return run ?? queued?.queued;
  };
  const listChunks: BoxClient['listChunks'] = (runId, name, after) =>
    journal.chunks.read(runId, name, { after, limit: PAGE });
  /** The run of an id, also once its queued start has become one. */
  const runIdOf = async (id: string): Promise<string> => {
    const found = (await journal.getRun(id)) ? undefined : await journal.queue.find(id);
    return found && 'run' in found ? found.run.runId : id;
  };
  return {
    findRun,
    async findById(name, id) {
      const startId = await journal.findStartId(toIdKey(name, id));
      return startId === undefined ? undefined : findRun(startId);
    },
    listChunks,
    async waitForEnd(id, signal) {
      for (;;) {
        signal.throwIfAborted();
        const found = await findRun(id);
        if (!found) return undefined;
        if ('runId' in found && isFinal(found.status)) return wholeRun(engine(), found);
        if ('runId' in found) await engine().wait(found.runId, WAIT_MS, signal);
        else await engine().nextChange(id, signal);
      }
    },
    async cancel(id) {
      const found = await findRun(id);
      if (!found) return false;
      if (!('runId' in found)) return engine().dequeue(found.triggerId);
      const result = await engine().cancel(found.runId, cancelledByCode(), { cleansUp: true });
      if (result?.outcome !== 'cancelled') return false;
      if (result.cleaning.includes(found.runId)) await engine().wait(found.runId, CANCEL_WAIT_MS);
      return true;
    },
    async readChunks({ runId: id, name, after, signal }) {
      for (;;) {
        signal.throwIfAborted();
        const runId = await runIdOf(id);
        const changed = engine().nextChange(runId, signal);
        // The run is read before its frames: what it wrote before it ended is among them.
        const found = await journal.getRun(runId);
        const queued = found ? undefined : await journal.queue.find(runId);
        const chunks = await listChunks(runId, name, after);
        if (chunks.length > 0) return chunks;
        if (found?.continuedTo) return { continuedTo: found.continuedTo };
        if (found ? isFinal(found.status) : !queued) return undefined;
        await changed;
      }
    },
    findHook: (token) => journal.hooks.find(token),
    resumeHook: (token, payload) => hooks().resumeFromCode(token, payload),
    async signalHook(token, payload, waitFor) {
      const signalled = await signals().signal(token, payload, { waitFor });
      return signalled.status === 'resumed' ? signalled.runId : undefined;
    },
    callWebhook: (token, request) => hooks().call(token, async () => request),
    closeHook: (runId, token, call) => journal.hooks.close(runId, token, call),
  };
}

// --- internal ---

function cancelledByCode(): Error {
  return new RunCancelledError('The run was cancelled by the code of another.');
}
