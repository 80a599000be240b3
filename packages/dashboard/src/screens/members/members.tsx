import { useState } from 'react';
import { usePlane } from '../../api/plane.ts';
import { useBox } from '../../app/box.ts';
import { Answer } from '../../ui/answer.tsx';
import { New } from '../../ui/new.tsx';
import { Page } from '../../ui/page.tsx';
import { Invites } from './invites.tsx';
import { mayWriteMembers } from './member.ts';
import type { Member } from './member.ts';
import { NewInvite } from './new-invite.tsx';
import type { MadeInvite } from './new-invite.tsx';
import { People } from './people.tsx';
import { InviteLink } from './invite-link.tsx';

/** Who is in the organisation, as what, and who is invited. */
export default function Members() {
  const { organization = '', caller } = useBox().bootstrap;
  const [made, setMade] = useState<MadeInvite>();
  const mayWrite = mayWriteMembers(caller.role);
  const members = usePlane<{ items: Member[] }>(`/orgs/${organization}/members`);
  return (
    <Page
      title="Members"
      actions={
        mayWrite && (
          <New label="Invite someone" name="invite">
            {(close) => <NewInvite onMade={setMade} onClose={close} />}
          </New>
        )
      }
    >
      <Answer of={members}>{({ items }) => <People of={items} />}</Answer>
      {mayWrite && <Invites />}
      {made && <InviteLink of={made} onClose={() => setMade(undefined)} />}
    </Page>
  );
}
