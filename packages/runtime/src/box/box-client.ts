import type { Engine } from '../engine/engine.ts';
import type { BoxClient } from '../engine/handle.ts';
import type { Journal } from '../engine/journal.ts';
import { isFinal } from '../engine/journal/run.ts';
import type { Hooks } from '../hooks/hooks.ts';

/** Rooms are handed as functions: the engine they stand on is made before them. */
export interface BoxClientOptions {
  journal: Journal;
  engine(): Engine;
  hooks(): Hooks;
}

const WAIT_MS = 60_000;
const PAGE = 100;

/** What `workflow/api` asks and does, through the same rooms the routes do. */
export function createBoxClient({ journal, engine, hooks }: BoxClientOptions): BoxClient {
  const findRun: BoxClient['findRun'] = async (id) => {
    const run = await journal.getRun(id);
    const queued = run ? undefined : await journal.queue.find(id);
    return run ?? (queued && ('run' in queued ? queued.run : queued.queued));
  };
  const listChunks: BoxClient['listChunks'] = (runId, name, after) =>
    journal.chunks.read(runId, name, { after, limit: PAGE });
  /** The run of an id, also once its queued start has become one. */
  const runIdOf = async (id: string): Promise<string> => {
    const found = await findRun(id);
    return found && 'runId' in found ? found.runId : id;
  };
  return {
    findRun,
    listChunks,
    async waitForEnd(id, signal) {
      for (;;) {
        signal.throwIfAborted();
        const found = await findRun(id);
        if (!found) return undefined;
        if ('runId' in found && isFinal(found.status)) return found;
        if ('runId' in found) await engine().wait(found.runId, WAIT_MS, signal);
        else await engine().nextChange(id, signal);
      }
    },
    async cancel(id) {
      const found = await findRun(id);
      if (!found) return false;
      if (!('runId' in found)) return engine().dequeue(found.triggerId);
      return (await engine().cancel(found.runId, cancelledByCode()))?.outcome === 'cancelled';
    },
    async readChunks({ runId: id, name, after, signal }) {
      for (;;) {
        signal.throwIfAborted();
        const runId = await runIdOf(id);
        const changed = engine().nextChange(runId, signal);
        // The run is read before its frames: what it wrote before it ended is among them.
        const found = await findRun(runId);
        const chunks = await listChunks(runId, name, after);
        if (chunks.length > 0) return chunks;
        if (!found || ('runId' in found && isFinal(found.status))) return undefined;
        await changed;
      }
    },
    findHook: (token) => journal.hooks.find(token),
    resumeHook: (token, payload) => hooks().resumeFromCode(token, payload),
    callWebhook: (token, request) => hooks().call(token, request),
    closeHook: (runId, token, call) => journal.hooks.close(runId, token, call),
  };
}

// --- internal ---

function cancelledByCode(): Error {
  return Object.assign(new Error('The run was cancelled by the code of another.'), { code: 'run_cancelled' });
}
