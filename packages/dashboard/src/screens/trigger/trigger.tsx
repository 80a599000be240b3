import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useChange, useLeave } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs, usePathParams } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Delete } from '../../ui/delete.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Page, Panel } from '../../ui/page.tsx';
import { toast, toastFailure } from '../../ui/toast.tsx';
import { TriggerForm } from '../triggers/trigger-form.tsx';
import { TriggerState } from '../triggers/trigger-state.tsx';
import type { Trigger } from '../triggers/trigger-state.tsx';
import { Deliveries } from './deliveries.tsx';
import { Facts } from './facts.tsx';
import { NewSecret } from './new-secret.tsx';

export type TriggerDetail = OperationOutput<'triggers.get'>;

/** One trigger: its address and how its sender is known, or what it asks for, and the outcome of what it has sent. */
export default function TriggerScreen() {
  const { id = '' } = usePathParams();
  const trigger = useCall('triggers.get', { id });
  const shown = (
    <Answer of={trigger}>
      {(detail) => <Detail key={id} trigger={detail} isReading={trigger.isFetching} onRead={() => trigger.refetch()} />}
    </Answer>
  );
  return trigger.data ? shown : <Page title="Trigger">{shown}</Page>;
}

// --- internal ---

interface DetailProps {
  trigger: TriggerDetail;
  isReading: boolean;
  onRead(): unknown;
}

function Detail({ trigger, isReading, onRead }: DetailProps) {
  const { id, name, kind, state, enabled, secrets } = trigger;
  const mayWrite = useMay()('triggers:write');
  const update = useChange('triggers.update');
  const poll = useChange('triggers.poll');
  const { asked, ask, close } = useDialogs('change', 'secret', 'drop', 'delete');
  const actions = mayWrite && (
    <>
      {state === 'needs_secret' && (
        <Button look="primary" onClick={() => ask('secret')}>
          Set the secret
        </Button>
      )}
      <Button onClick={() => ask('change')}>Change</Button>
      <Button
        busy={update.isPending}
        onClick={() => update.mutate({ id, enabled: !enabled }, { onError: toastFailure })}
      >
        {enabled ? 'Disable' : 'Enable'}
      </Button>
      <Menu
        label="More"
        items={[
          ...(kind === 'poll'
            ? []
            : [
                {
                  label: secrets === 0 ? 'Set the secret' : 'Rotate the secret',
                  onSelect: () => ask('secret'),
                },
                { label: 'Drop the previous secret', disabled: secrets < 2, onSelect: () => ask('drop') },
              ]),
          { label: 'Delete', danger: true, onSelect: () => ask('delete') },
        ]}
      />
    </>
  );
  return (
    <Page title={<bdi>{name}</bdi>} actions={actions}>
      <p className="mb-4 flex flex-wrap items-center gap-2">
        <TriggerState state={state} />
        <span className="text-muted">{SAID[kind][state]}</span>
      </p>
      <Panel title="What it is">
        <Facts trigger={trigger} />
      </Panel>
      <Panel
        title="Deliveries"
        actions={
          <>
            {mayWrite && kind === 'poll' && enabled && (
              <Button
                small
                busy={poll.isPending}
                onClick={() => poll.mutate({ id }, { onSuccess: sayPolled, onError: toastFailure })}
              >
                Poll now
              </Button>
            )}
            <Button small busy={isReading} onClick={() => void onRead()}>
              Read again
            </Button>
          </>
        }
      >
        <Deliveries trigger={trigger} />
      </Panel>
      {asked.change && mayWrite && <TriggerForm trigger={trigger} onClose={close} />}
      {asked.secret && mayWrite && kind !== 'poll' && <NewSecret trigger={trigger} onClose={close} />}
      {asked.drop && mayWrite && secrets > 1 && (
        <Confirm
          title="Drop the previous secret?"
          verb="Drop"
          danger
          onClose={close}
          onConfirm={() => update.mutateAsync({ id, dropsPrevious: true })}
        >
          Calls that are signed with it are refused from now on.
        </Confirm>
      )}
      {asked.delete && mayWrite && <DeleteThis trigger={trigger} onClose={close} />}
    </Page>
  );
}

function sayPolled(): void {
  toast('The service is asked. What is new is listed here.');
}

const SAID: Record<Trigger['kind'], Partial<Record<Trigger['state'], string>>> = {
  webhook: {
    ready: 'Calls with a valid signature are accepted.',
    needs_secret: 'It accepts nothing until it has a secret.',
    disabled: 'It accepts nothing until it is enabled. Deliveries that wait go on then.',
  },
  poll: {
    ready: 'What is new at the service is delivered.',
    failing: 'The last poll failed. It is tried again.',
    disabled: 'It asks for nothing until it is enabled. Deliveries that wait go on then.',
  },
};

function DeleteThis({ trigger: { id, name, kind }, onClose }: { trigger: TriggerDetail; onClose(): void }) {
  const remove = useLeave('triggers.delete');
  return (
    <Delete name={`“${name}”`} to="/triggers" onDelete={() => remove.mutateAsync({ id })} onClose={onClose}>
      {kind === 'poll'
        ? 'It asks for nothing any more. Its deliveries, and what it has seen, go with it; their runs stay.'
        : 'Its address accepts nothing any more. Its secrets and its deliveries go with it; their runs stay.'}
    </Delete>
  );
}
