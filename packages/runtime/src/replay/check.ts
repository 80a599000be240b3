import { isNotReplayable, leadThrough } from './replay.ts';
import type { Program } from '../manifest.ts';
import { stopOf, toStop } from '../engine/worker/move-stops.ts';
import type { MoveStop } from '../engine/worker/move-stops.ts';
import type { Recording } from '../runs/recording.ts';

/** Whether code fits what an open run has recorded, by its exported document. */
export interface RecordingCheck {
  outcome: 'safe' | 'stops' | 'unchecked';
  stop: MoveStop | null;
}

/** The same as a box finds out of a run of its own, elsewhere and before the code is deployed. Nothing is executed. */
export async function checkRecording(recording: Recording, program: Program): Promise<RecordingCheck> {
  try {
    const { run, end } = await leadThrough(recording, program, { patienceMs: PATIENCE_MS });
    const stop = stopOf(run, end, { isLate: false, isLeft: false });
    return { outcome: stop ? 'stops' : 'safe', stop: stop ?? null };
  } catch (error) {
    const stop = toStop(error);
    return { outcome: stop.isUnknown || isNotReplayable(error) ? 'unchecked' : 'stops', stop };
  }
}

// --- internal ---

const PATIENCE_MS = 2_000;
