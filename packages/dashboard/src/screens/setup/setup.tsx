import type { OperationOutput } from '@svc/runtime/client';
import { useCall } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Link } from '../../ui/link.tsx';
import { Page, Panel } from '../../ui/page.tsx';
import { ProviderCard } from '../settings/provider-card.tsx';
import { ModelDefaultsCard } from '../settings/model-defaults-card.tsx';

type Step = OperationOutput<'settings.setup'>['steps'][number];

const TITLES: Record<Step['id'], string> = {
  provider: 'Set the model provider',
  'default-model': 'Choose the default model',
  'first-run': 'Let something run',
};

/** What a new workspace still needs, done here. */
export default function Setup() {
  const setup = useCall('settings.setup', {});
  return (
    <Page title="Setup">
      <Answer of={setup}>
        {({ steps, gate }) => (
          <>
            <p className="mb-4 flex flex-wrap items-center gap-2">
              <Badge tone={gate.open ? 'good' : 'warn'}>{gate.open ? 'open' : 'held back'}</Badge>
              {gate.open ? 'Agents and workflows are served.' : 'Agents and workflows are not served yet.'}
              <span className="text-muted">{gate.reason}</span>
            </p>
            <ol className="mb-6 flex flex-col gap-2">
              {steps.map((step) => (
                <li key={step.id} className="rounded-lg border border-line bg-panel px-4 py-3">
                  <p className="flex flex-wrap items-center gap-2">
                    <Badge tone={step.done ? 'good' : 'neutral'}>{step.done ? 'done' : 'to do'}</Badge>
                    <span className="font-medium">{TITLES[step.id]}</span>
                  </p>
                  {step.problem && <p className="mt-1 text-bad">{step.problem}</p>}
                  {!step.done && <p className="mt-1 text-muted">{step.hint}</p>}
                </li>
              ))}
            </ol>
            <WayOn steps={steps} />
          </>
        )}
      </Answer>
    </Page>
  );
}

// --- internal ---

function WayOn({ steps }: { steps: readonly Step[] }) {
  const may = useMay();
  const settings = useCall('settings.get', {});
  const next = steps.find(({ done }) => !done);
  if (next?.id === 'provider' && may('provider:read')) return <ProviderCard />;
  if (next?.id === 'default-model' && may('settings:write'))
    return <Answer of={settings}>{(detail) => <ModelDefaultsCard settings={detail} />}</Answer>;
  if (!next)
    return (
      <Panel>
        Everything is set up. <Link to="/settings">Change the settings</Link>
      </Panel>
    );
  return (
    <Panel>
      {next.id === 'first-run' ? (
        <>
          <Link to="/playground">Talk to an agent</Link>, or <Link to="/workflows">start a workflow</Link>.
        </>
      ) : (
        'An owner or an admin does this step.'
      )}
    </Panel>
  );
}
