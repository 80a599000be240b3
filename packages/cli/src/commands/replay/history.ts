import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Recording } from '@svc/runtime/host';
import { openClient, toSegment } from '../../client/client.ts';
import { findWholeId } from '../../operations/short-id.ts';
import { READ_PROBLEMS } from '../../terminal/read-input.ts';
import type { TargetNames } from '../../client/target.ts';
import { CliError } from '../../errors.ts';
import { findProject } from '../../client/target.ts';
import type { Context } from '../../context.ts';

/** The history of a run, as `GET /api/runs/:id/export` answers it. */
export type History = Recording;

/** Where the history of a run is kept in the workspace. */
export function findHistory(id: string, cwd: string): string {
  return join(findProject(cwd) ?? cwd, '.svc', 'runs', `${toSegment(id)}.json`);
}

/** What a person names: a file, a run that was pulled, or one the box has. */
export async function readHistory(named: string, target: TargetNames, context: Context): Promise<History> {
  const pulled = findHistory(named, context.cwd);
  const file = [resolve(context.cwd, named), pulled].find((path) => existsSync(path));
  const document = file === undefined ? await fetchHistory(named, target, context) : readDocument(file);
  const { parseRecording } = await import('@svc/runtime/host');
  try {
    return parseRecording(document);
  } catch (error) {
    throw new CliError('history_invalid', (error as Error).message, {
      suggestion: `Write it again with: svc pull run ${file === pulled ? named : '<id>'} --force`,
    });
  }
}

// --- internal ---

function readDocument(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as unknown;
  } catch (error) {
    throw new CliError(
      'history_invalid',
      `"${file}" cannot be read: ${READ_PROBLEMS[(error as NodeJS.ErrnoException).code ?? ''] ?? (error as Error).message}.`,
      {
        suggestion: 'Name a file that svc pull run wrote.',
      },
    );
  }
}

async function fetchHistory(id: string, target: TargetNames, context: Context): Promise<unknown> {
  if (id.endsWith('.json'))
    throw new CliError('history_invalid', `There is no file "${id}".`, {
      suggestion: `Write it with: svc pull run <id> --out ${id}`,
    });
  const client = openClient(target, context);
  const whole = await findWholeId('run', id, () => client);
  return client.get<unknown>(`/api/runs/${toSegment(whole)}/export`);
}
