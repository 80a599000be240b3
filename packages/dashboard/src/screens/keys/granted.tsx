import { Checkbox } from '../../ui/checkbox.tsx';

export type Grant = 'all' | readonly string[];

export interface GrantedProps {
  title: string;
  names: readonly string[];
  value: Grant;
  onChange(value: Grant): void;
}

/** What of the box a key may call: all of a kind, or some by name; also one that the box has no more. */
export function Granted({ title, names, value, onChange }: GrantedProps) {
  const isAll = value === 'all';
  const shown = isAll ? names : [...new Set([...names, ...value])];
  return (
    <fieldset className="rounded border border-line p-3">
      <legend className="px-1 font-medium">{title}</legend>
      <div className="flex max-h-40 flex-col gap-1 overflow-y-auto">
        <Checkbox value={isAll} onChange={(isOn) => onChange(isOn ? 'all' : [])}>
          All there are and will be
        </Checkbox>
        {!isAll &&
          shown.map((name) => (
            <Checkbox
              key={name}
              value={value.includes(name)}
              onChange={(isOn) => onChange(isOn ? [...value, name] : value.filter((each) => each !== name))}
            >
              <bdi>{name}</bdi>
            </Checkbox>
          ))}
      </div>
    </fieldset>
  );
}

export function toNames(grant: Grant): 'all' | string[] {
  return grant === 'all' ? 'all' : [...grant];
}
