import { useState } from 'react';
import type { OperationInput } from '@svc/runtime/client';
import { useChange } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { ModelField } from '../../ui/model-field.tsx';
import { Panel } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';
import type { WorkspaceSettings } from './settings.tsx';

const SOURCES = {
  environment: 'SVC_DEFAULT_MODEL says so, whatever is set here',
  settings: 'set here',
  code: 'svc.config.ts says so',
} as const;

/** Its name, its time zone, and the model of agents that name none. */
export function WorkspaceCard({ settings }: { settings: WorkspaceSettings }) {
  const mayWrite = useMay()('settings:write');
  return (
    <Panel title="Workspace">
      {mayWrite ? (
        <Write settings={settings} key={JSON.stringify([settings.name, settings.defaultModel, settings.timeZone])} />
      ) : (
        <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
          <dt className="text-muted">Name</dt>
          <dd>
            <bdi>{settings.name ?? '–'}</bdi>
          </dd>
          <dt className="text-muted">Default model</dt>
          <dd>
            <Effective settings={settings} />
          </dd>
          <dt className="text-muted">Time zone</dt>
          <dd>{settings.timeZone ?? '–'}</dd>
        </dl>
      )}
    </Panel>
  );
}

// --- internal ---

type Change = OperationInput<'settings.update'>;

function Write({ settings }: { settings: WorkspaceSettings }) {
  const update = useChange('settings.update', ['settings', 'catalog']);
  const [name, setName] = useState(settings.name ?? '');
  const [model, setModel] = useState(settings.defaultModel ?? '');
  const [zone, setZone] = useState(settings.timeZone ?? '');
  const change: Change = {
    ...toChange('name', name, settings.name),
    ...toChange('defaultModel', model, settings.defaultModel),
    ...toChange('timeZone', zone, settings.timeZone),
  };
  const save = async (): Promise<void> => {
    try {
      await update.mutateAsync(change);
      toast('The settings are saved.');
    } catch {
      // Said below.
    }
  };
  return (
    <form
      noValidate
      aria-label="Workspace"
      className="flex max-w-xl flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <Field label="Name">
        {(parts) => <Input {...parts} value={name} onChange={({ target }) => setName(target.value)} />}
      </Field>
      <ModelField
        label="Default model"
        hint={
          <>
            Of agents that name none. In force: <Effective settings={settings} />
          </>
        }
        value={model}
        onChange={setModel}
      />
      <Field label="Time zone" hint="An IANA name such as Europe/Madrid">
        {(parts) => <Input {...parts} value={zone} onChange={({ target }) => setZone(target.value)} />}
      </Field>
      {update.error ? <Failure error={update.error} /> : null}
      <div>
        <Button type="submit" look="primary" busy={update.isPending} disabled={Object.keys(change).length === 0}>
          Save
        </Button>
      </div>
    </form>
  );
}

function Effective({ settings: { effectiveModel } }: { settings: WorkspaceSettings }) {
  const { model, source } = effectiveModel;
  if (model === null) return 'none';
  return (
    <>
      <code className="wrap-anywhere">{model}</code>
      {source && ` (${SOURCES[source]})`}
    </>
  );
}

/** Empty takes a setting back. */
function toChange(name: keyof Change, text: string, before: string | null): Change {
  const next = text.trim() === '' ? null : text.trim();
  return next === before ? {} : { [name]: next };
}
