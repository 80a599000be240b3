import type { ConflictPolicy, SerialPolicy } from '../definitions/workflow-settings.ts';
import type { Engine, StartRequest } from '../engine/engine.ts';
import type { CreateResult } from '../engine/journal/starts.ts';
import { BoxError } from '../errors.ts';

export interface SerialStart {
  key: string;
  onConflict: ConflictPolicy;
  /** Creates the run with the lock, or queues or refuses it. */
  begin(serial: NonNullable<StartRequest['serial']>): Promise<CreateResult>;
}

/** Starts a run that needs its workflow's lock, and does what the author chose when it is held. */
export async function startSerial(engine: Engine, { key, onConflict, begin }: SerialStart): Promise<CreateResult> {
  const whenTaken = onConflict === 'queue' ? 'queue' : 'refuse';
  for (;;) {
    const result = await begin({ key, whenTaken });
    if (result.outcome !== 'refused' || onConflict === 'reject') return result;
    if (onConflict === 'join') return { outcome: 'repeated', run: result.holder };
    // The holder may end, and another start may take the lock, before this one comes again.
    await engine.cancel(result.holder.runId, replaced());
  }
}

/** The lock an input needs. Throws `workflow_input_invalid` when the author's function names none for it. */
export function lockOf(name: string, input: unknown, { key }: SerialPolicy): string {
  if (!key) return name;
  const part = attempt(name, () => key(input));
  if (typeof part === 'string' || typeof part === 'number') return `${name}:${part}`;
  throw noKey(name, `answered ${part === null ? 'null' : typeof part}`);
}

// --- internal ---

function attempt(name: string, work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    throw noKey(name, `threw "${error instanceof Error ? error.message : String(error)}"`);
  }
}

function noKey(name: string, what: string): BoxError {
  return new BoxError(
    'workflow_input_invalid',
    `"serial.key" of workflow "${name}" ${what} for this input; it must answer text.`,
    {
      details: { issues: [{ path: [], message: 'The input names no serial key.' }] },
    },
  );
}

function replaced(): Error {
  return Object.assign(new Error('A newer start of this serial workflow replaced the run.'), { code: 'run_replaced' });
}
