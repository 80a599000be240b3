import { useState } from 'react';
import type { OperationInput } from '@svc/runtime/client';
import { useChange } from '../../api/queries.ts';
import { Field, Input } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import type { AuthKind, Connection } from '../connections/connection-state.ts';

/** Writes what a service knows the box by. What is there is never shown. */
export function CredentialForm({
  connection: { id, auth, per },
  onClose,
}: {
  connection: Connection;
  onClose(): void;
}) {
  const set = useChange('connections.set_credential');
  const [values, setValues] = useState<Values>({});
  const change = (name: Member, value: string) => setValues((before) => ({ ...before, [name]: value }));
  const given = Object.entries(values).filter(([, value]) => value !== '');
  const submit = async () => {
    const parts = given.map(([name, value]) => [name, name === 'expiresIn' ? Number(value) : value]);
    await set.mutateAsync({ id, ...(Object.fromEntries(parts) as Omit<Input, 'id'>) });
    setValues({});
    toast(`${id} has another credential.`);
    onClose();
  };
  const hasAll = auth !== 'basic' || given.length === 2;
  return (
    <FormDialog
      title={`The credential of ${id}`}
      verb="Set"
      incomplete={given.length === 0 || !hasAll}
      onSubmit={submit}
      onClose={onClose}
    >
      <p className="text-muted">
        It is stored encrypted, and never shown. What is set takes the place of what was there.
      </p>
      {FIELDS[auth].map((name) => (
        <Part key={name} name={name} value={values[name] ?? ''} onChange={change} />
      ))}
      {auth === 'oauth2' && per === 'box' && (
        <details className="rounded border border-line p-3">
          <summary className="font-medium">A token that was got elsewhere</summary>
          <div className="mt-3 flex flex-col gap-3">
            {TOKEN.map((name) => (
              <Part key={name} name={name} value={values[name] ?? ''} onChange={change} />
            ))}
          </div>
        </details>
      )}
    </FormDialog>
  );
}

// --- internal ---

type Input = OperationInput<'connections.set_credential'>;
type Member = Exclude<keyof Input, 'id'>;
type Values = Partial<Record<Member, string>>;

const FIELDS: Record<AuthKind, readonly Member[]> = {
  api_key: ['apiKey'],
  basic: ['username', 'password'],
  client_credentials: ['clientSecret'],
  oauth2: ['clientSecret'],
};

const TOKEN: readonly Member[] = ['accessToken', 'refreshToken', 'expiresIn'];

const TITLES: Record<Member, string> = {
  apiKey: 'API key',
  username: 'Username',
  password: 'Password',
  clientSecret: 'Client secret',
  accessToken: 'Access token',
  refreshToken: 'Refresh token',
  expiresIn: 'Good for, in seconds',
};

/** What anyone may read over a shoulder. */
const OPEN: readonly Member[] = ['username', 'expiresIn'];

interface PartProps {
  name: Member;
  value: string;
  onChange(name: Member, value: string): void;
}

function Part({ name, value, onChange }: PartProps) {
  const type = name === 'expiresIn' ? 'number' : 'password';
  return (
    <Field label={TITLES[name]}>
      {(parts) => (
        <Input
          {...parts}
          type={OPEN.includes(name) && type === 'password' ? 'text' : type}
          // Of a service, and no password of this page.
          autoComplete="new-password"
          value={value}
          onChange={({ target }) => onChange(name, target.value)}
        />
      )}
    </Field>
  );
}
