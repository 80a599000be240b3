import { useState } from 'react';
import { useMay } from '../../app/box.ts';
import { Field, Input } from '../../ui/field.tsx';
import { Panel } from '../../ui/page.tsx';
import { toChange } from './change.ts';
import { SettingsForm } from './settings-form.tsx';
import type { WorkspaceSettings } from './settings.tsx';

/** Its name and its time zone. */
export function WorkspaceCard({ settings }: { settings: WorkspaceSettings }) {
  const mayWrite = useMay()('settings:write');
  return (
    <Panel title="Workspace">
      {mayWrite ? (
        <Write settings={settings} key={JSON.stringify([settings.name, settings.timeZone])} />
      ) : (
        <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
          <dt className="text-muted">Name</dt>
          <dd>
            <bdi>{settings.name ?? '–'}</bdi>
          </dd>
          <dt className="text-muted">Time zone</dt>
          <dd>{settings.timeZone ?? '–'}</dd>
        </dl>
      )}
    </Panel>
  );
}

// --- internal ---

function Write({ settings }: { settings: WorkspaceSettings }) {
  const [name, setName] = useState(settings.name ?? '');
  const [zone, setZone] = useState(settings.timeZone ?? '');
  const change = { ...toChange('name', name, settings.name), ...toChange('timeZone', zone, settings.timeZone) };
  return (
    <SettingsForm label="Workspace" change={change}>
      <Field label="Name">
        {(parts) => <Input {...parts} value={name} onChange={({ target }) => setName(target.value)} />}
      </Field>
      <Field label="Time zone" hint="An IANA name such as Europe/Madrid">
        {(parts) => <Input {...parts} value={zone} onChange={({ target }) => setZone(target.value)} />}
      </Field>
    </SettingsForm>
  );
}
