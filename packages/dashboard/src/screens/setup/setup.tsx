import type { ReactNode } from 'react';
import { useCall } from '../../api/queries.ts';
import { useBox, useMay } from '../../app/box.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Link } from '../../ui/link.tsx';
import { Page, Panel } from '../../ui/page.tsx';
import { useProbes } from '../health/probes.ts';
import { ModelDefaultsCard } from '../settings/model-defaults-card.tsx';
import { ProviderCard } from '../settings/provider-card.tsx';
import { toSteps, WAYS } from './steps.ts';
import type { Step, Way } from './steps.ts';
import { useSetupPassed } from './use-needed.ts';

/** What a new workspace still needs, done here; each step is checked off by what the box says. */
export default function Setup() {
  const setup = useCall('settings.setup', {});
  const names = useCall('discovery.get', {});
  const probes = useProbes();
  const { pass } = useSetupPassed();
  return (
    <Page
      title="Setup"
      actions={
        <span onClick={pass}>
          <Link
            to="/"
            className="inline-block rounded border border-line bg-panel px-3 py-1.5 font-medium no-underline hover:bg-raised"
          >
            Go on to the Overview
          </Link>
        </span>
      }
    >
      <Answer of={setup}>
        {(known) => {
          const steps = toSteps({ setup: known, probes: probes.data, names: names.data });
          const next = steps.find(({ isDone }) => !isDone);
          return (
            <>
              <p className="mb-4 flex flex-wrap items-center gap-2">
                <Badge tone={known.gate.open ? 'good' : 'warn'}>{known.gate.open ? 'open' : 'held back'}</Badge>
                {known.gate.open ? 'Agents and workflows are served.' : 'Agents and workflows are not served yet.'}
                <span className="text-muted">{REASONS[known.gate.reason] ?? known.gate.reason}</span>
              </p>
              <ol aria-label="Steps" className="flex flex-col gap-2">
                {steps.map((step) => (
                  <ShownStep key={step.id} step={step} isNext={step === next} />
                ))}
              </ol>
              {!next && (
                <p className="mt-4">
                  Everything is set up. <Link to="/">See what runs</Link>, or{' '}
                  <Link to="/settings">change the settings</Link>.
                </p>
              )}
            </>
          );
        }}
      </Answer>
    </Page>
  );
}

// --- internal ---

/** Why a box is open, or held back, in words. */
const REASONS: Record<string, string> = {
  'model-provider-env': 'The environment of the box names a model provider.',
  'model-provider-stored': 'A model provider was set here.',
  'first-run-completed': 'Something has run.',
  'no-model-provider': 'There is no model provider.',
};

function ShownStep({ step: { id, title, isDone, isLater, problem }, isNext }: { step: Step; isNext: boolean }) {
  return (
    <li
      aria-current={isNext ? 'step' : undefined}
      className={`rounded-lg border bg-panel px-4 py-3 ${isNext ? 'border-accent' : 'border-line'}`}
    >
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone={isDone ? 'good' : 'neutral'}>{isDone ? 'done' : isLater ? 'later' : 'to do'}</Badge>
        <span className="font-medium">{title}</span>
      </p>
      {problem && <p className="mt-1 text-bad wrap-anywhere">{problem}</p>}
      {/* Files are written whatever is still to be chosen here. */}
      {(isNext || (id === 'code' && !isDone && !isLater)) && (
        <div className="mt-3">
          <WayOn id={id} />
        </div>
      )}
    </li>
  );
}

/** How the step is done: here, where that can be. */
function WayOn({ id }: { id: Step['id'] }) {
  const may = useMay();
  const { place } = useBox().bootstrap;
  const settings = useCall('settings.get', {});
  const ways: Record<Step['id'], () => ReactNode> = {
    box: () => (
      <p>
        Its address and its password are in the environment of the box. <Link to="/health">What each part says</Link>
      </p>
    ),
    provider: () =>
      may('provider:write') && (
        <>
          <ProviderCard />
          <Outside way={WAYS[place].provider} />
        </>
      ),
    'default-model': () =>
      may('settings:write') && <Answer of={settings}>{(detail) => <ModelDefaultsCard settings={detail} />}</Answer>,
    code: () => <Outside way={WAYS[place].code} />,
    'first-run': () => (
      <p>
        {may('agents:chat') && (
          <>
            <Link to="/playground">Talk to an agent</Link>, or{' '}
          </>
        )}
        <Link to="/workflows">start a workflow</Link>.
      </p>
    ),
  };
  return ways[id]() || <Panel>An owner or an admin does this step.</Panel>;
}

function Outside({ way: { said, commands = [] } }: { way: Way }) {
  return (
    <div className="flex flex-col gap-2">
      <p className="text-muted">{said}</p>
      {commands.map((command) => (
        <p key={command} className="flex flex-wrap items-center gap-2">
          <code className="rounded bg-raised px-2 py-1 wrap-anywhere">{command}</code>
          <Copy text={command} what={command} />
        </p>
      ))}
    </div>
  );
}
