import { EDITS, PARKS, versionTold } from './_version-edits.ts';
import type { Asked, Edit, Park } from './_version-edits.ts';
import { until } from './_setup.ts';

/** A request of the box's API with its JSON answer: `POST /api/…`. */
export type Send = (route: string, body?: unknown) => Promise<Record<string, unknown>>;

export interface ParkedRun {
  edit: Edit;
  park: Park;
  id: string;
  runId: string;
}

/** When those that sleep wake: late enough that the first box is gone by then. */
export const SLEEP_MS = 15_000;

/** A run of each workflow for each way to wait, and all of them do. Those that sleep come last. */
export async function parkAll(
  send: Send,
  edits: readonly Edit[] = EDITS,
  { sleepMs = SLEEP_MS }: { sleepMs?: number } = {},
): Promise<ParkedRun[]> {
  const runs: ParkedRun[] = [];
  for (const park of PARKS.toReversed())
    for (const edit of edits) {
      const id = `${edit.workflow}-${park}`;
      const started = await send(`POST /api/workflows/${edit.workflow}/start`, {
        id,
        park,
        until: Date.now() + sleepMs,
      });
      if (typeof started.runId !== 'string') throw new Error(`${id}: ${JSON.stringify(started)}`);
      runs.push({ edit, park, id, runId: started.runId });
    }
  const isAt = async (status: string) =>
    ((await send(`GET /api/runs?status=${status}&limit=1`)).items as object[]).length;
  await until(async () => (await isAt('queued')) + (await isAt('running')) === 0, 60_000);
  return runs;
}

/**
 * Resumes what can be, decides what is asked by these runs or below them, and answers each as it ended: `<workflow>-<park>`. Of
 * others nothing is decided.
 * @param versionOf the version a run ends on. Default: the first
 */
export async function finishAll(
  send: Send,
  runs: readonly ParkedRun[],
  versionOf: (run: ParkedRun) => 1 | 2 = () => 1,
): Promise<Record<string, unknown>> {
  const known = new Map<string, boolean>(runs.map(({ runId }) => [runId, true]));
  const isOwn = async (runId: string): Promise<boolean> => {
    const found = known.get(runId);
    if (found !== undefined) return found;
    const { parentRunId } = await send(`GET /api/runs/${runId}`);
    const own = typeof parentRunId === 'string' && (await isOwn(parentRunId));
    known.set(runId, own);
    return own;
  };
  const resume = (token: string) => send(`POST /api/workflows/hooks/${token}/resume`, {});
  for (const { park, id } of runs) {
    if (park === 'hook') await resume(`go-${id}`);
    if (park === 'child') await resume(`child-${id}`);
  }
  const ends: Record<string, unknown> = {};
  const tokens = new Map(
    runs.flatMap((run) => (run.edit.token ? [[run.id, run.edit.token(run.id, versionOf(run))] as const] : [])),
  );
  await until(async () => {
    const { items } = (await send('GET /api/approvals?status=pending&limit=200')) as {
      items: { approvalId: string; runId: string }[];
    };
    for (const { approvalId, runId } of items)
      if (await isOwn(runId)) await send(`POST /api/approvals/${approvalId}/decide`, { decision: 'approve' });
    for (const [id, token] of tokens) if ((await resume(token)).status === 'resumed') tokens.delete(id);
    for (const { id, runId } of runs.filter((run) => !(run.id in ends))) {
      const { status, output, error, waitingFor } = await send(`GET /api/runs/${runId}`);
      if (status === 'completed') ends[id] = output;
      else if (status === 'failed' || status === 'blocked' || status === 'cancelled')
        ends[id] = { status, error, waitingFor };
    }
    return Object.keys(ends).length === runs.length;
  }, 120_000);
  return ends;
}

/** What it has to come to: each has the result of its own code. */
export function expectedEnds(runs: readonly ParkedRun[], today: string): Record<string, unknown> {
  return Object.fromEntries(runs.map(({ edit, id }) => [id, edit.answer(id, today)]));
}

/** By run: which version of its agent was told. */
export function toldOf(runs: readonly ParkedRun[], requests: readonly Asked[]): Record<string, string[]> {
  const asked = runs.filter(({ edit }) => edit.agent !== undefined);
  return Object.fromEntries(
    asked.map(({ edit, id }) => {
      const own = requests.filter((request) => JSON.stringify(request.messages).includes(`${id}`));
      return [id, versionTold(edit.workflow, own)];
    }),
  );
}

/** A turn that waits ends on its own code; one that is begun later has the newest, as everything that is begun. */
export function expectedTold(runs: readonly ParkedRun[]): Record<string, string[]> {
  const asked = runs.filter(({ edit }) => edit.agent !== undefined);
  return Object.fromEntries(asked.map(({ id, park }) => [id, [park === 'turn' ? '1' : '2']]));
}

/** What a check of the second version says of a run. */
export function verdictOf({ stop }: Edit): 'safe' | 'stops' {
  return stop === undefined ? 'safe' : 'stops';
}

/** What each has to come to once all are moved that can be. */
export function expectedMoved(runs: readonly ParkedRun[], today: string): Record<string, unknown> {
  return Object.fromEntries(runs.map(({ edit, id }) => [id, movedOf(edit, id, today)]));
}

// --- internal ---

function movedOf(edit: Edit, id: string, today: string): unknown {
  const own = edit.answer(id, today);
  if (verdictOf(edit) !== 'safe') return own;
  const [first, ...rest] = own;
  return edit.moved?.(id) ?? [first, ...rest.map((text) => String(text).replace('-1 ', '-2 '))];
}
