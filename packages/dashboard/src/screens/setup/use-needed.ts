import { useCall } from '../../api/queries.ts';
import { useBox, useMay } from '../../app/box.ts';

/** Whether the box lacks what nothing runs without: a provider of models, or any agent or workflow. Undefined: not known yet. */
export function useSetupNeeded(): boolean | undefined {
  const may = useMay()('provider:read');
  const provider = useCall('provider.get', {}, { enabled: may });
  const names = useCall('discovery.get', {});
  const hasNoCode = names.data && names.data.agents.length + names.data.workflows.length === 0;
  const hasNoProvider = may && provider.data?.source === null;
  if (hasNoCode || hasNoProvider) return true;
  // What cannot be asked keeps a person from nothing.
  const isKnown = (names.data || names.error) && (!may || provider.data || provider.error);
  return isKnown ? false : undefined;
}

/** Whether the person has gone past the setup of this box before, in this browser. */
export function useSetupPassed(): { isPassed: boolean; pass(): void } {
  const { bootstrap } = useBox();
  const key = `svc.setup.passed:${bootstrap.installation ?? bootstrap.name}`;
  return { isPassed: localStorage.getItem(key) !== null, pass: () => localStorage.setItem(key, '1') };
}
