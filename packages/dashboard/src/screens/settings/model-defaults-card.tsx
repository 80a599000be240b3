import { useState } from 'react';
import { useMay } from '../../app/box.ts';
import { ModelField } from '../../ui/model-field.tsx';
import { Panel } from '../../ui/page.tsx';
import { toChange } from './change.ts';
import { SettingsForm } from './settings-form.tsx';
import type { WorkspaceSettings } from './settings.tsx';

/** The model of agents that name none, the copilot among them. */
export function ModelDefaultsCard({ settings }: { settings: WorkspaceSettings }) {
  const mayWrite = useMay()('settings:write');
  return (
    <Panel title="Model defaults">
      {mayWrite ? (
        <Write settings={settings} key={settings.defaultModel} />
      ) : (
        <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
          <dt className="text-muted">Default model</dt>
          <dd>
            <Effective settings={settings} />
          </dd>
        </dl>
      )}
    </Panel>
  );
}

// --- internal ---

const SOURCES = {
  environment: 'SVC_DEFAULT_MODEL says so, whatever is set here',
  settings: 'set here',
  code: 'svc.config.ts says so',
} as const;

function Write({ settings }: { settings: WorkspaceSettings }) {
  const [model, setModel] = useState(settings.defaultModel ?? '');
  return (
    <SettingsForm label="Model defaults" change={toChange('defaultModel', model, settings.defaultModel)}>
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
    </SettingsForm>
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
