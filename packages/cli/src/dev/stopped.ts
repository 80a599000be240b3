import { createRarely } from '@svc/runtime/host';
import type { StoppedRun } from '@svc/runtime/host';
import { toPlainText } from '../terminal/style.ts';

/** Says in a line that a run has failed, is blocked, or waits for its code. Of many that stop together, each name is said once a second. */
export function createStopTalk(say: (line: string) => void): (run: StoppedRun) => void {
  return createRarely<StoppedRun>({
    quietMs: QUIET_MS,
    say({ runId, name, status, message, place }) {
      const [first = ''] = message.split('\n', 1);
      // The message may be that of an upstream's answer.
      say(
        toPlainText(`${name} ${STATES[status]}: ${first}${place === undefined ? '' : `  ${place}`}  svc why ${runId}`),
      );
    },
    sayLeftOut: (name, count) =>
      say(`${name}: ${count} more failed, are blocked or wait for their code  svc runs list --name ${name}`),
  }).add;
}

// --- internal ---

const QUIET_MS = 1_000;
const STATES = { failed: 'failed', blocked: 'is blocked', waiting: 'waits for its code' } as const;
