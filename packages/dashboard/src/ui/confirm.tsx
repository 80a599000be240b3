import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Failure } from './failure.tsx';

export interface ConfirmProps {
  title: string;
  /** What is done, on the button. */
  verb: string;
  danger?: boolean;
  /** Not yet. */
  disabled?: boolean;
  onConfirm(): Promise<unknown>;
  onClose(): void;
  children?: ReactNode;
}

/** Asks before something is done that is not undone; says why it was refused. */
export function Confirm({ title, verb, danger, disabled = false, onConfirm, onClose, children }: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const confirm = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await onConfirm();
      onClose();
    } catch (failure) {
      setError(failure);
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
          <Button look={danger ? 'danger' : 'primary'} busy={busy} disabled={disabled} onClick={() => void confirm()}>
            {verb}
          </Button>
        </>
      }
    >
      {children}
      {error !== undefined && <Failure error={error} />}
    </Dialog>
  );
}
