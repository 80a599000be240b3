import { isHidden } from '../auth/visibility.ts';
import type { Hidden } from '../auth/visibility.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { splitName } from '../definitions/subagents.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import { isFinal } from '../engine/journal/run.ts';
import type { RunRow } from '../engine/journal/run.ts';
import type { MoveCheck } from '../engine/worker/moves.ts';
import { BoxError } from '../errors.ts';
import { toCounts, toRunUpgrade } from './payload.ts';
import type { RunUpgrade, UpgradePage } from './payload.ts';

export interface UpgradeRequest {
  /** Runs of one workflow or agent, its sub-agents too. */
  name?: string;
  /** One run alone, whatever its code. */
  runId?: string;
  limit: number;
  /** The last run of the page before. */
  cursor?: string;
  signal: AbortSignal;
}

/** Open runs that go on with the code they began with, and whether the newest code fits what they have recorded. */
export interface Upgrade {
  /** Changes nothing. Throws `workflow_runtime_not_armed`, and `workflow_not_found` of a name that nothing has. */
  check(request: UpgradeRequest): Promise<UpgradePage>;
  /**
   * Gives those the newest code whose check is `safe`. The others stay as they are. Throws the same.
   * @param begin called with the runs that are meant, before the first is changed
   */
  apply(request: UpgradeRequest, begin?: (runIds: string[]) => Promise<void>): Promise<UpgradePage>;
  /** It was moved, or is over: there is nothing more to do to it. */
  isDone(runId: string): Promise<boolean>;
  /** The same without what is hidden. */
  without(hidden: Hidden): Upgrade;
}

export interface UpgradeOptions {
  engine: Pick<Engine, 'armed' | 'listOld' | 'checkMove' | 'move'>;
  catalog: Pick<Catalog, 'findAgent' | 'findWorkflow'>;
  journal: Pick<Journal, 'getRun' | 'code'>;
  hidden?: Hidden;
}

export function createUpgrade(options: UpgradeOptions): Upgrade {
  const { engine, journal, hidden } = options;

  const list = async ({ name, runId, limit, cursor }: UpgradeRequest): Promise<Listed> => {
    if (!engine.armed) throw notArmed();
    const isMeant = (run: RunRow): boolean => !isHidden(run, hidden) && (name === undefined || isOf(run, name));
    if (runId !== undefined) {
      const run = await journal.getRun(runId);
      return { runs: run && isMeant(run) && !isFinal(run.status) ? [run] : [], next: null };
    }
    if (name !== undefined && !(await isKnown(options, name))) throw nothingOf(name);
    const found = await engine.listOld({ limit, ...(cursor === undefined ? {} : { after: cursor }) });
    return { runs: found.filter(isMeant), next: found.length < limit ? null : (found.at(-1)?.runId ?? null) };
  };

  const each = async (
    { runs, next }: Listed,
    signal: AbortSignal,
    look: (runId: string) => Promise<MoveCheck | undefined>,
  ): Promise<UpgradePage> => {
    const until = performance.now() + REQUEST_MS;
    const items: RunUpgrade[] = [];
    for (const [index, { runId }] of runs.entries()) {
      const check = await look(runId);
      if (check) items.push(toRunUpgrade(check));
      const isCut = performance.now() > until || signal.aborted;
      if (isCut && index < runs.length - 1) return { items, counts: toCounts(items), nextCursor: runId };
    }
    return { items, counts: toCounts(items), nextCursor: next };
  };

  return {
    check: async (request) =>
      each(await list(request), request.signal, (runId) => engine.checkMove(runId, request.signal)),
    async apply(request, begin) {
      const listed = await list(request);
      const runIds = listed.runs.map(({ runId }) => runId);
      if (runIds.length > 0) await begin?.(runIds);
      const rest = performance.now() + REST_MS;
      return each(listed, request.signal, (runId) =>
        moveAtRest(options, runId, { until: rest, signal: request.signal }),
      );
    },
    async isDone(runId) {
      const run = await journal.getRun(runId);
      return !run || isFinal(run.status) || run.movedAt !== null;
    },
    without: (more) => createUpgrade({ ...options, hidden: more }),
  };
}

// --- internal ---

/** A request goes on for so long at most, but for the run that is under way. */
const REQUEST_MS = 15_000;

/** All runs of a request together are waited for so long, to leave the memory of another process: those that only wait do. */
const REST_MS = 6_000;
const LOOK_MS = 300;

interface Listed {
  runs: RunRow[];
  next: string | null;
}

function isOf(run: RunRow, name: string): boolean {
  return run.name === name || (run.kind === 'agent' && run.name.startsWith(`${name}/`));
}

/** An agent or a workflow of the code there is, or an open run of one that is gone. */
async function isKnown({ catalog, journal }: UpgradeOptions, name: string): Promise<boolean> {
  if (catalog.findWorkflow(name) || catalog.findAgent(splitName(name).agent)) return true;
  return (await journal.code.listOpenRuns(name, 1)).length > 0;
}

async function moveAtRest(
  { engine }: Pick<UpgradeOptions, 'engine'>,
  runId: string,
  { until, signal }: { until: number; signal: AbortSignal },
): Promise<MoveCheck | undefined> {
  for (;;) {
    const check = await engine.move(runId, signal);
    const waits = check?.stop?.code === 'run_busy' && check.run.status === 'waiting';
    if (!waits || performance.now() > until || signal.aborted) return check;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function nothingOf(name: string): BoxError {
  const message = `There is no workflow or agent "${name}", and no open run of one.`;
  return new BoxError('workflow_not_found', message);
}

function notArmed(): BoxError {
  const message = 'The code of this box is not loaded yet, so nothing can be compared with it. Try again in a moment.';
  return new BoxError('workflow_runtime_not_armed', message);
}
