import type { StoppedRun } from '@svc/runtime/host';

/** Says in a line that a run has failed or is blocked. Of many that stop together, each name is said once a second. */
export function createStopTalk(say: (line: string) => void): (run: StoppedRun) => void {
  const saidAt = new Map<string, number>();
  return ({ runId, name, status, message, place }) => {
    const now = performance.now();
    if (now - (saidAt.get(name) ?? -QUIET_MS) < QUIET_MS) return;
    saidAt.set(name, now);
    const [first = ''] = message.split('\n');
    const what = status === 'failed' ? 'failed' : 'is blocked';
    say(`${name} ${what}: ${first}${place === undefined ? '' : `  ${place}`}  svc why ${runId}`);
  };
}

// --- internal ---

const QUIET_MS = 1_000;
