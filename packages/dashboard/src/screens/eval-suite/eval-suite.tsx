import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useLeave } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs, usePathParams, useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { Delete } from '../../ui/delete.tsx';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Value } from '../../ui/value.tsx';
import { EvalRuns } from '../evals/eval-runs.tsx';
import { SuiteForm } from '../evals/suite-form.tsx';
import { toScore } from '../evals/verdict.tsx';
import { SuiteCases } from './cases.tsx';
import { Launch } from './launch.tsx';

type Suite = OperationOutput<'evals.suites.get'>;

/** One suite: its runs, its cases, how it is scored; it is launched here. */
export default function EvalSuite() {
  const { name = '' } = usePathParams();
  const suite = useCall('evals.suites.get', { id: name });
  return <Answer of={suite}>{(one) => <Detail suite={one} />}</Answer>;
}

// --- internal ---

function Detail({ suite }: { suite: Suite }) {
  const [{ tab = 'runs' }, change] = useSearchState();
  const { asked, ask, close } = useDialogs('launch', 'change', 'delete');
  const may = useMay();
  return (
    <Page
      title={suite.name}
      actions={
        <>
          {may('evals:write') && (
            <>
              <Button onClick={() => ask('change')}>Change</Button>
              <Button look="danger" onClick={() => ask('delete')}>
                Delete
              </Button>
            </>
          )}
          {may('evals:run') && (
            <Button look="primary" onClick={() => ask('launch')}>
              Launch
            </Button>
          )}
        </>
      }
    >
      <p className="mb-4 text-muted">
        {suite.note && (
          <>
            <bdi>{suite.note}</bdi>
            {' · '}
          </>
        )}
        {toGates(suite)}
      </p>
      <Tabs
        label="Of this suite"
        value={tab}
        onChange={(next) => change({ tab: next === 'runs' ? undefined : next }, 'push')}
        tabs={[
          { id: 'runs', title: 'Runs', content: () => <EvalRuns suite={suite.name} /> },
          { id: 'cases', title: 'Cases', content: () => <SuiteCases suite={suite} /> },
          {
            id: 'settings',
            title: 'Scorers and gates',
            content: () => (
              <>
                <Value label="Scorers" value={suite.scorers} />
                <Value label="Gates" value={suite.gates} />
                {suite.prompts.length > 0 && <Value label="Prompts" value={suite.prompts} />}
                {suite.online && <Value label="Live turns" value={suite.online} />}
              </>
            ),
          },
        ]}
      />
      {asked.launch && may('evals:run') && <Launch suite={suite} onClose={close} />}
      {asked.change && may('evals:write') && <SuiteForm suite={suite} onClose={close} />}
      {asked.delete && may('evals:write') && <DeleteThis suite={suite} onClose={close} />}
    </Page>
  );
}

function DeleteThis({ suite: { id, name }, onClose }: { suite: Suite; onClose(): void }) {
  const remove = useLeave('evals.suites.delete');
  return (
    <Delete
      name={name}
      done="The suite is deleted."
      to="/evals"
      onDelete={() => remove.mutateAsync({ id })}
      onClose={onClose}
    >
      Its cases and its runs stay.
    </Delete>
  );
}

function toGates({ gates, samples, concurrency, model }: Suite): string {
  return [
    `passes when ${Math.round(gates.passRate * 100)} % of the results do`,
    ...(gates.score === undefined ? [] : [`at a mean score of ${toScore(gates.score)}`]),
    samples === 1 ? 'each case once' : `each case ${samples} times`,
    `${concurrency} at once`,
    ...(model === null ? [] : [`asks ${model}`]),
  ].join(' · ');
}
