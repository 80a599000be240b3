import type { ReactNode } from 'react';
import { useGoAway } from '../app/search.ts';
import { Confirm } from './confirm.tsx';
import { toast } from './toast.tsx';

export interface DeleteProps<Answer> {
  /** What is deleted, as it is in the title. */
  name: string;
  /** Deletes it. */
  onDelete(): Promise<Answer>;
  /** Said once it is deleted, which may go by what the box has answered. Default: that it is, with its name. */
  done?: string | ((answer: Answer) => readonly [text: string, tone: 'good' | 'bad']);
  /** The screen that lists what is left, where this one is about what is deleted alone. */
  to?: string;
  onClose(): void;
  /** What goes with it, and what stays. */
  children: ReactNode;
}

/** Asks before something is deleted, and says that it is. */
export function Delete<Answer>(props: DeleteProps<Answer>) {
  const { name, onDelete, done = `${name} is deleted.`, to, onClose, children } = props;
  const goAway = useGoAway();
  return (
    <Confirm
      title={`Delete ${name}?`}
      verb="Delete"
      danger
      onClose={onClose}
      onConfirm={async () => {
        const answer = await onDelete();
        if (typeof done === 'string') toast(done);
        else toast(...done(answer));
        if (to !== undefined) await goAway(to);
      }}
    >
      {children}
    </Confirm>
  );
}
