import { Field, Select } from '../ui/field.tsx';
import { showInstallation } from './bootstrap.ts';
import type { Bootstrap } from './bootstrap.ts';

/** Of an organisation with several boxes: which is shown. */
export function Installations({ bootstrap: { installation = '', installations = [] } }: { bootstrap: Bootstrap }) {
  if (installations.length < 2) return null;
  return (
    <Field label="Box" quiet>
      {(parts) => (
        <Select
          {...parts}
          value={installation}
          options={installations.map(({ id, name, isReachable }) => [
            id,
            isReachable ? name : `${name} (not registered)`,
          ])}
          onChange={({ target }) => showInstallation(target.value)}
        />
      )}
    </Field>
  );
}
