import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OperationOutput } from '@svc/runtime/client';
import type { Client } from '../../client/client.ts';

/** A call of `svc.version` in the workspace. */
export interface Marker {
  change: string;
  /** As in the workspace, with `/`. */
  file: string;
  line: number;
}

/**
 * The calls of `svc.version` in the workspace's workflows that no open run of the box needs: every run has the newest version, or no
 * run of the workflow is open. Of a name that is no literal nothing is known.
 * @param only the workflow that is asked for. Undefined: all
 */
export async function findUnneeded(client: Client, root: string | undefined, only?: string): Promise<Marker[]> {
  if (root === undefined) return [];
  const { scanWorkspace } = await import('@svc/compiler');
  const { workflows } = await scanWorkspace({ root });
  const files = [...new Set(workflows.flatMap(({ name, file }) => (only === undefined || only === name ? file : [])))];
  const markers = files.flatMap((file) => listMarkers(root, file));
  if (markers.length === 0) return [];
  const changesOf = createAsker(client);
  const found: Marker[] = [];
  for (const marker of markers) {
    // Which of the workflows of a file calls it is not known.
    const names = workflows.filter(({ file }) => file === marker.file).map(({ name }) => name);
    const all = await Promise.all(names.map(changesOf));
    if (all.every((changes) => changes !== undefined && isUnneeded(changes, marker))) found.push(marker);
  }
  return found;
}

// --- internal ---

type Changes = OperationOutput<'workflows.changes'>;

const CALL = /\bsvc\s*\.\s*version\(\s*(['"`])([\w.:/-]{1,100})\1/g;

/** Each workflow is asked for once. Undefined: the box has none of that name yet, or does not say. */
function createAsker(client: Client): (name: string) => Promise<Changes | undefined> {
  const asked = new Map<string, Promise<Changes | undefined>>();
  return (name) => {
    const known = asked.get(name);
    if (known) return known;
    const answer = client.get<Changes>(`/api/workflows/${encodeURIComponent(name)}/changes`).catch(() => undefined);
    asked.set(name, answer);
    return answer;
  };
}

function listMarkers(root: string, file: string): Marker[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(CALL)].map(({ index, 2: change = '' }) => ({
    change,
    file,
    line: text.slice(0, index).split('\n').length,
  }));
}

/** Which branch a run needs that has not asked is not known. */
function isUnneeded({ items, openRuns, isWhole }: Changes, { change }: Marker): boolean {
  const asked = items.find((item) => item.change === change);
  return isWhole && (asked ? !asked.isNeeded : openRuns === 0);
}
