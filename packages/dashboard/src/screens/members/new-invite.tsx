import { useState } from 'react';
import type { Role } from '../../../../runtime/src/auth/permissions.ts';
import { usePlaneChange } from '../../api/plane.ts';
import { useBox } from '../../app/box.ts';
import { Field, Input, Select } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { listRoles } from './member.ts';
import type { Invite } from './member.ts';

/** With the link, which is shown once. */
export type MadeInvite = Invite & { url: string };

export function NewInvite({ onMade, onClose }: { onMade(made: MadeInvite): void; onClose(): void }) {
  const { organization = '', caller } = useBox().bootstrap;
  const create = usePlaneChange<MadeInvite>();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('member');
  return (
    <FormDialog
      title="Invite someone"
      verb="Make the invite"
      incomplete={!email.includes('@')}
      onClose={onClose}
      onSubmit={async () => {
        const body = { email: email.trim(), role };
        const made = await create.mutateAsync({ method: 'POST', path: `/orgs/${organization}/invites`, body });
        onClose();
        onMade(made);
      }}
    >
      <Field label="E-mail address" hint="The invite is for this address alone. Nothing is sent: you pass the link on">
        {(parts) => <Input {...parts} type="email" value={email} onChange={({ target }) => setEmail(target.value)} />}
      </Field>
      <Field label="Role">
        {(parts) => (
          <Select
            {...parts}
            value={role}
            options={listRoles(caller.role)}
            onChange={({ target }) => setRole(target.value as Role)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
