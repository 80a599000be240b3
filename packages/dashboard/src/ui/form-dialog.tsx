import { useId, useState } from 'react';
import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Failure } from './failure.tsx';

export interface FormDialogProps {
  title: string;
  /** What is done, on the button. */
  verb: string;
  /** What is missing before it can be done. */
  incomplete?: boolean;
  onSubmit(): Promise<unknown>;
  onClose(): void;
  children: ReactNode;
}

/** A dialog in which something is filled in; it stays open, with the reason, when that is refused. */
export function FormDialog({ title, verb, incomplete = false, onSubmit, onClose, children }: FormDialogProps) {
  const form = useId();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const submit = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await onSubmit();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={form} look="primary" busy={busy} disabled={incomplete}>
            {verb}
          </Button>
        </>
      }
    >
      <form
        id={form}
        noValidate
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy && !incomplete) void submit();
        }}
      >
        {children}
        {error !== undefined && <Failure error={error} />}
      </form>
    </Dialog>
  );
}
