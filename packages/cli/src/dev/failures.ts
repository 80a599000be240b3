import type { FailedRun } from '@svc/runtime/host';

/** Says in a line that a run has failed. Of many that fail together, each name is said once a second. */
export function createFailureTalk(say: (line: string) => void): (run: FailedRun) => void {
  const saidAt = new Map<string, number>();
  return ({ runId, name, message, place }) => {
    const now = performance.now();
    if (now - (saidAt.get(name) ?? -QUIET_MS) < QUIET_MS) return;
    saidAt.set(name, now);
    const [first = ''] = message.split('\n');
    say(`${name} failed: ${first}${place === undefined ? '' : `  ${place}`}  svc why ${runId}`);
  };
}

// --- internal ---

const QUIET_MS = 1_000;
