import { usePlane, usePlaneChange } from '../../api/plane.ts';
import { useBox } from '../../app/box.ts';
import { useDialogs } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Panel } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { toast } from '../../ui/toast.tsx';
import type { Invite } from './member.ts';

/** Who may become a member, and has not yet. */
export function Invites() {
  const { organization = '' } = useBox().bootstrap;
  const invites = usePlane<{ items: Invite[] }>(`/orgs/${organization}/invites`);
  const revoke = usePlaneChange();
  const { asked, ask, close } = useDialogs('revoke');
  const taken = invites.data?.items.find(({ id }) => id === asked.revoke);
  return (
    <div className="mt-6">
      <Panel title="Open invites">
        <Answer of={invites} rows={2}>
          {({ items }) =>
            items.length === 0 ? (
              <p className="text-muted">
                There are no open invites. <i>Invite someone</i> makes a link for a person.
              </p>
            ) : (
              <Table
                label="Open invites"
                rows={items}
                keyOf={({ id }) => id}
                columns={[
                  { title: 'E-mail', cell: ({ email }) => <bdi className="wrap-anywhere">{email}</bdi> },
                  { title: 'Role', cell: ({ role }) => role },
                  { title: 'Good until', wide: true, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
                  {
                    title: 'Actions',
                    end: true,
                    cell: (invite) => (
                      <Button
                        small
                        look="danger"
                        aria-label={`Revoke the invite of ${invite.email}`}
                        onClick={() => ask('revoke', invite.id)}
                      >
                        Revoke
                      </Button>
                    ),
                  },
                ]}
              />
            )
          }
        </Answer>
      </Panel>
      {taken && (
        <Confirm
          title="Revoke this invite?"
          verb="Revoke"
          danger
          onClose={close}
          onConfirm={async () => {
            await revoke.mutateAsync({ method: 'DELETE', path: `/orgs/${organization}/invites/${taken.id}` });
            toast('The invite is revoked.');
          }}
        >
          The link that <bdi>{taken.email}</bdi> was sent is no longer valid.
        </Confirm>
      )}
    </div>
  );
}
