import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { Panel } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';
import type { WorkspaceSettings } from './settings.tsx';

export interface DaysCardProps {
  title: string;
  operation: 'settings.retention' | 'settings.key_expiry';
  days: number | null;
  /** How long without a number of days. */
  otherwise: string;
}

export function DaysCard({ title, operation, days, otherwise }: DaysCardProps) {
  const mayWrite = useMay()('settings:admin');
  const set = useChange(operation);
  const [text, setText] = useState(days === null ? '' : String(days));
  const next = text.trim() === '' ? null : Number(text);
  const save = async (): Promise<void> => {
    try {
      await set.mutateAsync({ days: next });
      toast('It is saved.');
    } catch {
      // Said below.
    }
  };
  return (
    <Panel title={title}>
      <p className="mb-3">{days === null ? otherwise : `${days} ${days === 1 ? 'day' : 'days'}`}</p>
      {mayWrite && (
        <form
          noValidate
          aria-label={title}
          className="flex flex-wrap items-end gap-3"
          onSubmit={(event) => {
            event.preventDefault();
            void save();
          }}
        >
          <Field label="Days" hint={`Empty: ${otherwise}`}>
            {(parts) => (
              <Input {...parts} inputMode="numeric" value={text} onChange={({ target }) => setText(target.value)} />
            )}
          </Field>
          <Button type="submit" busy={set.isPending} disabled={next === days || Number.isNaN(next)}>
            Save
          </Button>
        </form>
      )}
      {set.error ? <Failure error={set.error} /> : null}
    </Panel>
  );
}

export function McpCard({ settings: { mcp } }: { settings: WorkspaceSettings }) {
  const mayWrite = useMay()('settings:admin');
  const set = useChange('settings.mcp');
  return (
    <Panel title="MCP">
      <p className="flex flex-wrap items-center gap-2">
        <code>/mcp</code> <Badge tone={mcp.enabled ? 'good' : 'neutral'}>{mcp.enabled ? 'on' : 'off'}</Badge>
        {mcp.tools && <Badge>agents and workflows are tools</Badge>}
      </p>
      {mayWrite && (
        <div className="mt-3 flex flex-wrap gap-2">
          <Button busy={set.isPending} onClick={() => set.mutate({ enabled: !mcp.enabled })}>
            {mcp.enabled ? 'Switch it off' : 'Switch it on'}
          </Button>
          <Button busy={set.isPending} onClick={() => set.mutate({ enabled: mcp.enabled, tools: !mcp.tools })}>
            {mcp.tools ? 'No tool for each agent and workflow' : 'A tool for each agent and workflow'}
          </Button>
        </div>
      )}
      {set.error ? <Failure error={set.error} /> : null}
    </Panel>
  );
}
