import type { ReactNode } from 'react';
import { useChange } from '../../api/queries.ts';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/failure.tsx';
import { toast } from '../../ui/toast.tsx';
import type { SettingsChange } from './change.ts';

/** Fields of some settings, and what saves what they change. */
export function SettingsForm({
  label,
  change,
  children,
}: {
  label: string;
  change: SettingsChange;
  children: ReactNode;
}) {
  const update = useChange('settings.update', ['settings', 'catalog']);
  const save = async (): Promise<void> => {
    try {
      await update.mutateAsync(change);
      toast('The settings are saved.');
    } catch {
      // Said below.
    }
  };
  return (
    <form
      noValidate
      aria-label={label}
      className="flex max-w-xl flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {children}
      {update.error ? <Failure error={update.error} /> : null}
      <div>
        <Button type="submit" look="primary" busy={update.isPending} disabled={Object.keys(change).length === 0}>
          Save
        </Button>
      </div>
    </form>
  );
}
