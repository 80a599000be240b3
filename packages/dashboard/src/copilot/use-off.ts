import { useSyncExternalStore } from 'react';
import { COPILOT_NEEDS } from '../api/contract.ts';
import { useCall } from '../api/queries.ts';
import { useBox, useMay } from '../app/box.ts';
import type { Bootstrap } from '../app/bootstrap.ts';
import { describe } from '../ui/failure.tsx';
import { COPILOT_AGENT } from './agent.ts';
import type { OffReason } from './off.ts';

export type CopilotState =
  | { is: 'asked' }
  | { is: 'on'; lost: OffReason | undefined }
  | { is: 'off'; reason: OffReason; detail?: string; retry?: () => void }
  /** The box refuses to say. */
  | { is: 'refused'; error: unknown; retry: () => void };

/** Whether there is a copilot to talk to, and what is in its way. */
export function useCopilotState(): CopilotState {
  const { bootstrap, events } = useBox();
  const may = useMay()('copilot:use');
  const stream = useSyncExternalStore(events.onState, events.state);
  const settings = useCall('settings.get', {}, { enabled: may });
  const contract = useCall('contract.get', {}, { enabled: may });
  const isOn = settings.data?.copilot?.enabled === true;
  const entry = useCall('catalog.get', { kind: 'agent', name: COPILOT_AGENT }, { enabled: isOn });
  // Asks the provider for its models, so it is not waited for.
  const setup = useCall('settings.setup', {}, { enabled: isOn });
  if (!may) return { is: 'off', reason: 'not-permitted' };
  const failed = [contract, settings, entry].find(({ data, error }) => data === undefined && error);
  if (failed) {
    const retry = (): void => void Promise.all([contract.refetch(), settings.refetch(), entry.refetch()]);
    return describe(failed.error).code === 'unreachable'
      ? { is: 'off', reason: toLost(bootstrap, false), retry }
      : { is: 'refused', error: failed.error, retry };
  }
  if (!contract.data || !settings.data) return { is: 'asked' };
  // An older box says nothing of a copilot.
  const { copilot } = settings.data as Partial<typeof settings.data>;
  if (contract.data.version < COPILOT_NEEDS || !copilot) return { is: 'off', reason: 'too-old' };
  if (!copilot.enabled) return { is: 'off', reason: 'switched-off' };
  if (!entry.data) return { is: 'asked' };
  if (setup.data?.steps.some(({ id, done }) => id === 'provider' && !done)) return { is: 'off', reason: 'no-provider' };
  if (entry.data.problem) return { is: 'off', reason: 'does-not-load', detail: entry.data.problem.message };
  if (!entry.data.model?.effective) return { is: 'off', reason: 'no-model' };
  return { is: 'on', lost: stream === 'lost' ? toLost(bootstrap, true) : undefined };
}

// --- internal ---

/** @param wasOpen it has been reached before, from this page */
function toLost({ place }: Bootstrap, wasOpen: boolean): OffReason {
  if (place === 'dev') return 'not-running';
  return place === 'full' && !wasOpen ? 'no-direct-connection' : 'unreachable';
}
