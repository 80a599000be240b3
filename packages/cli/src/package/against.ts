import type { OperationOutput } from '@svc/runtime/client';
import type { Problem, Recording } from '@svc/runtime/host';
import { openClient, toSegment } from '../client/client.ts';
import type { Client } from '../client/client.ts';
import { toStopProblems } from '../commands/upgrade/stops.ts';
import type { Stopped } from '../commands/upgrade/stops.ts';
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';
import { countOf } from '../workspace/workspace.ts';

/** How the open runs of a box stand to the code of a workspace. */
export interface OpenRuns {
  checked: number;
  safe: number;
  /** Those whose history is no whole one outside of its box, or that are more than are read. */
  unchecked: number;
}

/**
 * Reads the histories of the open runs of a box, and leads the code of the workspace through each here: nothing of it is
 * executed. Throws `check_failed` with the places where it stops.
 */
export async function checkAgainst({ url, root }: { url: string; root: string }, context: Context): Promise<OpenRuns> {
  const client = openClient({ agent: undefined, url }, context);
  context.progress(`Checking the open runs of ${url} …`);
  const runs = await listOpen(client);
  const result: OpenRuns = { checked: 0, safe: 0, unchecked: Math.max(0, runs.length - MOST) };
  const stopped: Stopped[] = [];
  if (runs.length > 0) {
    const [{ checkRecording, parseRecording }, { openHost }] = await Promise.all([
      import('@svc/runtime/host'),
      import('../dev/host.ts'),
    ]);
    const host = await openHost({ root, say: (line) => context.trace(line) });
    try {
      for (const { runId, name } of runs.slice(0, MOST)) {
        const recording = await readRecording(client, runId, parseRecording);
        if (recording === undefined) continue;
        const check = recording === 'unread' ? undefined : await checkRecording(recording, host.program());
        result.checked += 1;
        if (check?.outcome === 'safe') result.safe += 1;
        else if (check?.outcome === 'stops') stopped.push({ runId, name, stop: check.stop });
        else result.unchecked += 1;
      }
    } finally {
      await host.close();
    }
  }
  if (stopped.length > 0) throw failure(url, stopped, await toStopProblems(stopped, root), result);
  return result;
}

// --- internal ---

type Listed = OperationOutput<'runs.list'>['items'][number];

/** A run that is queued has recorded nothing. */
const OPEN = ['running', 'waiting', 'blocked'];
const MOST = 1_000;

/** Of code that an author has written. */
async function listOpen(client: Client): Promise<Listed[]> {
  const lists = await Promise.all(OPEN.map((status) => client.list<Listed>('/api/runs', { status })));
  // What the box runs for itself, such as evals, is no code of a workspace.
  return lists.flat().filter(({ name }) => !name.startsWith('svc.'));
}

/** Undefined: it is over and gone. `unread`: it is more than a document holds. */
async function readRecording(
  client: Client,
  runId: string,
  parse: (document: unknown) => Recording,
): Promise<Recording | 'unread' | undefined> {
  try {
    const recording = parse(await client.get<unknown>(`/api/runs/${toSegment(runId)}/export`));
    return ['completed', 'failed', 'cancelled'].includes(recording.run.status) ? undefined : recording;
  } catch (error) {
    const code = error instanceof CliError ? error.code : '';
    if (code === 'run_not_found') return undefined;
    if (code === 'run_too_large' || code === 'object_not_found') return 'unread';
    throw error;
  }
}

function failure(url: string, stopped: readonly Stopped[], problems: Problem[], { checked }: OpenRuns): CliError {
  const placed = new Set(problems.map(({ message }) => message.split(' ')[1]));
  const others = stopped
    .filter(({ runId }) => !placed.has(runId))
    .map(({ runId, name, stop }) => ` Run ${runId} of ${name}: ${stop?.message}`)
    .slice(0, SHOWN);
  const what = `The new code stops in ${stopped.length} of ${countOf(checked, 'open run')} of ${url}.`;
  return new CliError('check_failed', what + others.join(''), {
    suggestion:
      'They go on with the code they have where the box has kept it. Branch in the code, wait until they have ended, or package without --against.',
    details: { problems, runs: stopped.map(({ runId, name, stop }) => ({ runId, name, stop })) },
  });
}

const SHOWN = 20;
