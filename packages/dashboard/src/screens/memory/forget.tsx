import { useChange } from '../../api/queries.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { toast } from '../../ui/toast.tsx';

export interface ForgetProps {
  filter: { user: string; client?: string; agent?: string };
  onClose(): void;
}

/** Forgets what is remembered of an end user; the sessions stay. */
export function Forget({ filter, onClose }: ForgetProps) {
  const { user, client, agent } = filter;
  const clear = useChange('memory.clear');
  return (
    <Confirm
      title={`Forget what is remembered of ${user}?`}
      verb="Forget"
      danger
      onClose={onClose}
      onConfirm={async () => {
        const { forgotten } = await clear.mutateAsync(filter);
        toast(`${forgotten.toLocaleString('en')} turn${forgotten === 1 ? '' : 's'} of ${user} are forgotten.`);
      }}
    >
      <p className="wrap-anywhere">
        {agent === undefined ? 'Every agent forgets' : <>The agent {agent} forgets</>} all turns of{' '}
        {client === undefined ? 'the users of that name at any client' : <>that user of {client}</>}, also those that
        are not shown yet. The sessions stay. It cannot be undone.
      </p>
    </Confirm>
  );
}
