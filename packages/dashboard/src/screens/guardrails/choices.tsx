import { Checkbox } from '../../ui/checkbox.tsx';

interface ChoicesProps {
  title: string;
  options: readonly (readonly [value: string, label: string])[];
  value: readonly string[];
  onChange(value: string[]): void;
}

/** Some of a few, in their own order. */
export function Choices({ title, options, value, onChange }: ChoicesProps) {
  const toggle = (one: string, isOn: boolean) =>
    onChange(options.map(([each]) => each).filter((each) => (each === one ? isOn : value.includes(each))));
  return (
    <fieldset className="rounded border border-line p-3">
      <legend className="px-1 font-medium">{title}</legend>
      <div className="flex flex-wrap gap-x-4 gap-y-1">
        {options.map(([one, label]) => (
          <Checkbox key={one} value={value.includes(one)} onChange={(isOn) => toggle(one, isOn)}>
            {label}
          </Checkbox>
        ))}
      </div>
    </fieldset>
  );
}
