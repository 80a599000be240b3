import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Confirm } from './confirm.tsx';
import { toast } from './toast.tsx';

export interface DeleteProps {
  /** What is deleted, as it stands in the title. */
  name: string;
  /** Deletes it. */
  onDelete(): Promise<unknown>;
  /** Said once it is deleted, by default with the name. */
  done?: string;
  /** The screen that lists what is left, where this one is about what is deleted alone. */
  to?: string;
  onClose(): void;
  /** What goes with it, and what stays. */
  children: ReactNode;
}

/** Asks before something is deleted, and says that it is. */
export function Delete({ name, onDelete, done = `${name} is deleted.`, to, onClose, children }: DeleteProps) {
  const navigate = useNavigate();
  return (
    <Confirm
      title={`Delete ${name}?`}
      verb="Delete"
      danger
      onClose={onClose}
      onConfirm={async () => {
        await onDelete();
        toast(done);
        if (to !== undefined) await navigate({ to: to as never });
      }}
    >
      {children}
    </Confirm>
  );
}
