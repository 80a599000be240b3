import { useId } from 'react';
import { useChange } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { COPILOT_AGENT } from '../../copilot/agent.ts';
import { Failure } from '../../ui/failure.tsx';
import { Link } from '../../ui/link.tsx';
import { Panel } from '../../ui/page.tsx';
import type { WorkspaceSettings } from './settings.tsx';

/** The switch of the copilot: seen by everyone, turned by owners and admins. */
export function CopilotCard({ settings: { copilot } }: { settings: WorkspaceSettings }) {
  const mayWrite = useMay()('copilot:write');
  const set = useChange('settings.copilot');
  const about = useId();
  return (
    <Panel title="Studio copilot">
      <div className="flex flex-wrap items-center gap-3">
        <button
          type="button"
          role="switch"
          aria-checked={copilot.enabled}
          aria-label="Studio copilot"
          aria-describedby={about}
          disabled={!mayWrite}
          aria-busy={set.isPending || undefined}
          className="inline-flex h-6 w-11 shrink-0 items-center rounded-full border border-muted bg-raised p-0.5 disabled:opacity-60 aria-checked:justify-end aria-checked:border-accent aria-checked:bg-accent"
          // Not disabled while it is turned: that would take the focus from whoever uses the keys.
          onClick={() => !set.isPending && set.mutate({ enabled: !copilot.enabled })}
        >
          <span aria-hidden className={`size-4.5 rounded-full ${copilot.enabled ? 'bg-on-accent' : 'bg-muted'}`} />
        </button>
        <p className="font-medium">{copilot.enabled ? 'On' : 'Off'}</p>
      </div>
      <p id={about} className="mt-2 max-w-xl text-muted">
        An agent in a panel of every screen (<kbd>Ctrl .</kbd>), which reads and changes this workspace with the
        permissions of whoever asks it. Switching it off deletes nothing.
        {!mayWrite && ' An owner or an admin turns the switch.'}
      </p>
      {copilot.enabled && (
        <p className="mt-2">
          <Link to="/catalog" search={{ system: '1', open: `agent/${COPILOT_AGENT}` }}>
            Choose its model
          </Link>
        </p>
      )}
      {set.error ? <Failure error={set.error} /> : null}
    </Panel>
  );
}
