import { useState } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useChange, useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs } from '../../app/search.ts';
import { Button } from '../../ui/button.tsx';
import { Delete } from '../../ui/delete.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import { New } from '../../ui/new.tsx';
import { Page } from '../../ui/page.tsx';
import { describeSecret, SecretArea, useTypedSecret } from '../../ui/secret-area.tsx';
import { Time } from '../../ui/time.tsx';
import { toast } from '../../ui/toast.tsx';
import { Refused } from '../../ui/refused.tsx';

type Secret = OperationOutput<'secrets.list'>['items'][number];
/** The names of the secrets: a value is written, and never shown. */
export default function Secrets() {
  const may = useMay();
  const secrets = useList('secrets.list', {});
  const { asked, ask, close } = useDialogs('rotate', 'delete');
  return (
    <Page
      title="Secrets"
      actions={may('secrets:write') && <New label="New secret">{(done) => <Write onClose={done} />}</New>}
    >
      <List
        of={secrets}
        label="Secrets"
        keyOf={({ name }) => name}
        columns={[
          { title: 'Name', cell: ({ name }: Secret) => <code className="wrap-anywhere">{name}</code> },
          { title: 'Version', end: true, wide: true, cell: ({ version }) => version },
          { title: 'Set', cell: ({ setAt }) => <Time at={setAt} /> },
          { title: 'By', wide: true, cell: ({ setBy }) => <bdi>{setBy ?? '–'}</bdi> },
          { title: 'Last read', wide: true, cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
          {
            title: 'Actions',
            end: true,
            cell: ({ name }) => (
              <span className="flex flex-wrap justify-end gap-1">
                {may('secrets:rotate') && (
                  <Button small aria-label={`Rotate ${name}`} onClick={() => ask('rotate', name)}>
                    Rotate
                  </Button>
                )}
                {may('secrets:write') && (
                  <Button small look="danger" aria-label={`Delete ${name}`} onClick={() => ask('delete', name)}>
                    Delete
                  </Button>
                )}
              </span>
            ),
          },
        ]}
        empty={
          <Empty title="There is no secret yet">
            Code reads one with <code>svc.secrets.get</code>. Its value is stored encrypted, and never shown.
          </Empty>
        }
      />
      {asked.rotate && may('secrets:rotate') && <Write key={asked.rotate} name={asked.rotate} onClose={close} />}
      {asked.delete && may('secrets:write') && <DeleteThis name={asked.delete} onClose={close} />}
    </Page>
  );
}

// --- internal ---

/** A secret is written once, and then rotated. */
function Write({ name: known, onClose }: { name?: string; onClose(): void }) {
  const create = useChange('secrets.set');
  const rotate = useChange('secrets.rotate');
  const [name, setName] = useState(known ?? '');
  const { value, write, wasLeft } = useTypedSecret();
  const submit = async () => {
    await (known === undefined ? create : rotate).mutateAsync({ name, value });
    write('');
    toast(known === undefined ? `${name} is set.` : `${name} has another value.`);
    onClose();
  };
  return (
    <FormDialog
      title={known === undefined ? 'New secret' : `Rotate ${known}`}
      verb={known === undefined ? 'Set' : 'Rotate'}
      incomplete={name === '' || value === ''}
      onSubmit={submit}
      onClose={onClose}
    >
      {known === undefined && (
        <Field label="Name" hint="1 to 128 letters, digits, “_”, “.” and “-”">
          {(parts) => <Input {...parts} value={name} onChange={({ target }) => setName(target.value)} />}
        </Field>
      )}
      {known !== undefined && <LastRead name={known} />}
      <Field label="Value" hint={describeSecret('Never shown, here or once it is set', wasLeft)}>
        {(parts) => <SecretArea {...parts} rows={4} value={value} onChange={({ target }) => write(target.value)} />}
      </Field>
    </FormDialog>
  );
}

/** Code that reads it is given the new value from its next read on; what holds the old one is not known to the box. */
function LastRead({ name }: { name: string }) {
  const secret = useCall('secrets.get', { name });
  const { data } = secret;
  if (!data && secret.error) return <Refused of={secret} what="When it was read last" />;
  return (
    <p className="min-h-10 text-muted">
      {data && (
        <>
          {data.lastUsedAt === null ? (
            'Nothing has read it yet. '
          ) : (
            <>
              It was read last <Time at={data.lastUsedAt} />.{' '}
            </>
          )}
          Whatever reads it is given the new value from then on.{' '}
          <Link to="/activity" search={{ target: name }}>
            Who has changed it
          </Link>
        </>
      )}
    </p>
  );
}

function DeleteThis({ name, onClose }: { name: string; onClose(): void }) {
  const remove = useChange('secrets.delete');
  return (
    <Delete name={name} onDelete={() => remove.mutateAsync({ name })} onClose={onClose}>
      Code that reads it fails from then on, and its value cannot be recovered.
    </Delete>
  );
}
