import { useState } from 'react';
import { useCall, useChange } from '../../api/queries.ts';
import { useGoOn } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Input, Select } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { AUTH_TITLES } from './connection-state.ts';
import type { AuthKind } from './connection-state.ts';
import { listNeeded, toDraft, toInput } from './draft.ts';
import type { Draft, Provider } from './draft.ts';
import { MoreFields, OAuthFields } from './oauth-fields.tsx';

/** Declares a connection to a service of the catalogue, or to another one; its credential is given on its own page. */
export function NewConnection({ onClose }: { onClose(): void }) {
  const providers = useCall('connections.providers', { limit: 200 });
  if (providers.data) return <Form providers={providers.data.items} onClose={onClose} />;
  return (
    <Dialog title={TITLE} onClose={onClose} actions={<Button onClick={onClose}>Cancel</Button>}>
      <Answer of={providers}>{() => null}</Answer>
    </Dialog>
  );
}

// --- internal ---

const TITLE = 'New connection';

function Form({ providers, onClose }: { providers: readonly Provider[]; onClose(): void }) {
  const goOn = useGoOn();
  const create = useChange('connections.create');
  const [provider, setProvider] = useState<Provider>();
  const [draft, setDraft] = useState<Draft>();
  const change = (some: Partial<Draft>) => setDraft((before) => before && { ...before, ...some });
  const choose = (id: string) => {
    const chosen = providers.find((each) => each.id === id);
    setProvider(chosen);
    setDraft(chosen && toDraft(chosen));
  };
  const submit = async () => {
    if (!provider || !draft) return;
    const { id } = await create.mutateAsync(toInput(provider, draft));
    await goOn(`/connections/${id}`);
  };
  const isMissing = (name: keyof Draft) => !draft || String(draft[name]).trim() === '';
  return (
    <FormDialog
      title={TITLE}
      verb="Connect"
      incomplete={!provider || !draft || isMissing('id') || listNeeded(provider, draft.auth).some(isMissing)}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field label="Service">
        {(parts) => (
          <Select
            {...parts}
            value={provider?.id ?? ''}
            onChange={({ target }) => choose(target.value)}
            options={[['', 'Choose …'], ...providers.map(({ id, title }) => [id, title] as const)]}
          />
        )}
      </Field>
      {provider && draft && <Fields provider={provider} draft={draft} onChange={change} />}
    </FormDialog>
  );
}

export interface FieldsProps {
  provider: Provider;
  draft: Draft;
  onChange(change: Partial<Draft>): void;
}

function Fields({ provider, draft, onChange }: FieldsProps) {
  const { id, auth, baseUrl } = draft;
  const { docs } = provider;
  return (
    <>
      {docs !== null && (
        <p className="text-xs">
          <a className="text-accent underline" href={docs} target="_blank" rel="noreferrer">
            How {provider.title} hands out credentials
          </a>
        </p>
      )}
      <Field label="Name" hint="What code calls it: 1 to 63 lower-case letters, digits and “-”">
        {(parts) => <Input {...parts} value={id} onChange={({ target }) => onChange({ id: target.value })} />}
      </Field>
      <Field label="How it knows the box">
        {(parts) => (
          <Select
            {...parts}
            value={auth}
            onChange={({ target }) => onChange({ auth: target.value as AuthKind })}
            options={provider.auth.map((each) => [each, AUTH_TITLES[each]] as const)}
          />
        )}
      </Field>
      {provider.baseUrl === null && (
        <Field label="Address of its API" hint="What the paths of calls are relative to">
          {(parts) => (
            <Input
              {...parts}
              type="url"
              placeholder="https://api.example.com/v1"
              value={baseUrl}
              onChange={({ target }) => onChange({ baseUrl: target.value })}
            />
          )}
        </Field>
      )}
      <OAuthFields provider={provider} draft={draft} onChange={onChange} />
      <MoreFields provider={provider} draft={draft} onChange={onChange} />
    </>
  );
}
