import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '@svc/runtime/host';

/** A run, and why code does not fit what it has recorded. */
export interface Stopped {
  runId: string;
  name: string;
  stop: { code: string; message: string; at: string | null } | null;
}

/** What stops at a line, with the source around it where the workspace at hand has that. */
export async function toStopProblems(items: readonly Stopped[], root: string | undefined): Promise<Problem[]> {
  const placed = items.flatMap((item) => toPlaced(item) ?? []).slice(0, MOST_SHOWN);
  if (placed.length === 0) return [];
  const { addPlace } = await import('@svc/compiler');
  return placed.map((problem) => {
    const file = root === undefined ? undefined : findFile(root, problem.file);
    return root === undefined || file === undefined ? problem : addPlace(root, { ...problem, file });
  });
}

// --- internal ---

const MOST_SHOWN = 20;

function toPlaced({ runId, name, stop }: Stopped): Problem | undefined {
  const [, file = '', line = ''] = /^(.*):(\d+)$/.exec(stop?.at ?? '') ?? [];
  if (!stop || file === '') return undefined;
  const message = `Run ${runId} of ${name}: ${stop.message}`;
  return { code: stop.code, message, file, line: Number(line), column: 1, frame: '' };
}

/** A box names the file as it lies there: below other folders than here. */
function findFile(root: string, file: string): string | undefined {
  const parts = file.split('/');
  for (let from = 0; from < parts.length; from += 1) {
    const part = parts.slice(from).join('/');
    if (!part.startsWith('..') && part !== '' && existsSync(join(root, part))) return part;
  }
  return undefined;
}
