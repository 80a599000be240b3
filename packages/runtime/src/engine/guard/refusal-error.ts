import { DeterminismError } from '../errors.ts';

/** What a body gets for a call it may not make. `advice`: a sentence without its full stop. */
export function refusedBy(label: string, advice: string): DeterminismError {
  const message = `${label} cannot be used in a workflow body, because a replay could not repeat it. ${advice}.`;
  return new DeterminismError(message);
}
