import { useCall } from '../api/queries.ts';
import { Field, Select } from './field.tsx';
import { Refused } from './refused.tsx';

interface AgentFilterProps {
  /** Empty: every agent. */
  agent: string;
  onChange(agent: string): void;
}

/** Of whose a list is: one of the agents there are, or the one that the address names. */
export function AgentFilter({ agent, onChange }: AgentFilterProps) {
  const known = useCall('discovery.get', {});
  const names = [...new Set([...(known.data?.agents ?? []), ...(agent === '' ? [] : [agent])])];
  return (
    <>
      <Field label="Agent" quiet>
        {(parts) => (
          <Select
            {...parts}
            value={agent}
            options={[['', 'Every agent'] as const, ...names.map((name) => [name, name] as const)]}
            onChange={({ target }) => onChange(target.value)}
          />
        )}
      </Field>
      <Refused of={known} what="The names of agents" />
    </>
  );
}
