import { usePlaneChange } from '../../api/plane.ts';
import { useBox } from '../../app/box.ts';
import { useDialogs } from '../../app/search.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Select } from '../../ui/field.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { toast, toastFailure } from '../../ui/toast.tsx';
import { listRoles, mayChange } from './member.ts';
import type { Member } from './member.ts';

export function People({ of }: { of: readonly Member[] }) {
  const { caller } = useBox().bootstrap;
  const { asked, ask, close } = useDialogs('remove');
  const isLastOwner = ({ role }: Member) => role === 'owner' && of.filter((each) => each.role === 'owner').length === 1;
  const mayLeave = (member: Member) =>
    !isLastOwner(member) && (member.userId === caller.id || mayChange(caller.role, member.role));
  const leaving = of.find((member) => member.userId === asked.remove && mayLeave(member));
  return (
    <>
      <Table
        label="Members"
        rows={of}
        keyOf={({ userId }) => userId}
        columns={[
          {
            title: 'Person',
            cell: ({ name, email, userId }) => (
              <>
                <span className="flex flex-wrap items-center gap-2">
                  <bdi className="wrap-anywhere">{name}</bdi>
                  {userId === caller.id && <Badge>you</Badge>}
                </span>
                <bdi className="block text-xs wrap-anywhere text-muted">{email}</bdi>
              </>
            ),
          },
          { title: 'Role', cell: (member) => <MemberRole of={member} isLastOwner={isLastOwner(member)} /> },
          { title: 'Since', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            title: 'Actions',
            end: true,
            cell: (member) => {
              const isSelf = member.userId === caller.id;
              if (!mayLeave(member)) return null;
              const verb = isSelf ? 'Leave' : 'Remove';
              return (
                <Button
                  small
                  look="danger"
                  aria-label={isSelf ? 'Leave the organisation' : `Remove ${member.name}`}
                  onClick={() => ask('remove', member.userId)}
                >
                  {verb}
                </Button>
              );
            },
          },
        ]}
      />
      {leaving && <Leave of={leaving} onClose={close} />}
    </>
  );
}

// --- internal ---

function MemberRole({ of: { userId, name, role }, isLastOwner }: { of: Member; isLastOwner: boolean }) {
  const { organization = '', caller } = useBox().bootstrap;
  const update = usePlaneChange();
  if (isLastOwner && caller.role === 'owner')
    return (
      <>
        owner
        <span className="block text-xs text-muted">The only one. Make another member an owner first.</span>
      </>
    );
  if (!mayChange(caller.role, role)) return role;
  const save = async (next: string): Promise<void> => {
    try {
      const path = `/orgs/${organization}/members/${userId}`;
      await update.mutateAsync({ method: 'PATCH', path, body: { role: next } });
      toast(`${name} is ${next} now.`);
      // What this page shows goes by the role it was opened with.
      if (userId === caller.id) location.reload();
    } catch (error) {
      toastFailure(error);
    }
  };
  return (
    <Select
      aria-label={`Role of ${name}`}
      className="max-w-36"
      value={role}
      disabled={update.isPending}
      options={listRoles(caller.role)}
      onChange={({ target }) => void save(target.value)}
    />
  );
}

function Leave({ of: { userId, name, email }, onClose }: { of: Member; onClose(): void }) {
  const { organization = '', caller } = useBox().bootstrap;
  const remove = usePlaneChange();
  const isSelf = userId === caller.id;
  return (
    <Confirm
      title={isSelf ? 'Leave the organisation?' : 'Remove this member?'}
      verb={isSelf ? 'Leave' : 'Remove'}
      danger
      onClose={onClose}
      onConfirm={async () => {
        await remove.mutateAsync({ method: 'DELETE', path: `/orgs/${organization}/members/${userId}` });
        if (isSelf) location.assign('/');
        else toast(`${name} is no member any more.`);
      }}
    >
      {isSelf ? (
        'You see nothing of it from then on, until you are invited again.'
      ) : (
        <>
          <bdi>{name}</bdi> (<bdi>{email}</bdi>) is signed out of the command line here, and tokens made for this
          organisation are good no more.
        </>
      )}
    </Confirm>
  );
}
