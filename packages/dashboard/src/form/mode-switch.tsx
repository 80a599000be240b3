import { Button } from '../ui/button.tsx';
import type { FormMode } from './schema-form.tsx';

/** Whether a value is written by its fields or as JSON. */
export function ModeSwitch({
  label,
  mode,
  onChange,
}: {
  label: string;
  mode: FormMode;
  onChange(mode: FormMode): void;
}) {
  return (
    <div role="group" aria-label={label} className="flex gap-1">
      {(['form', 'json'] as const).map((each) => (
        <Button
          key={each}
          small
          aria-pressed={mode === each}
          look={mode === each ? 'primary' : 'plain'}
          onClick={() => onChange(each)}
        >
          {each === 'json' ? 'JSON' : 'Form'}
        </Button>
      ))}
    </div>
  );
}
