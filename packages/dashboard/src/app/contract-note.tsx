import { SPOKEN } from '../api/contract.ts';
import { useCall } from '../api/queries.ts';

/** Says that the box is of another version than the dashboard, where it is. */
export function ContractNote() {
  const { data } = useCall('contract.get', {});
  if (!data || data.version === SPOKEN) return null;
  const isOlder = data.version < SPOKEN;
  return (
    <p role="note" className="border-b border-line bg-warn-soft px-4 py-1.5 text-warn">
      This box speaks version {data.version} of the protocol and this dashboard version {SPOKEN}.{' '}
      {isOlder
        ? 'What the box does not have yet says so: update the box.'
        : 'What is new in the box is not shown: update the dashboard.'}
    </p>
  );
}
