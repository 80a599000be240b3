import { useChange, useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs, usePathParams, useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Link } from '../../ui/link.tsx';
import { More } from '../../ui/more.tsx';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Time, toDuration } from '../../ui/time.tsx';
import { toast } from '../../ui/toast.tsx';
import { toScore, Verdict } from '../evals/verdict.tsx';
import type { EvalRun } from '../evals/verdict.tsx';
import { Compare } from './compare.tsx';
import { Matrix } from './matrix.tsx';

/** One run of a suite: its matrix of cases and scorers, beside the run before, live until it ends. */
export default function EvalRunScreen() {
  const { id = '' } = usePathParams();
  const [{ tab = 'matrix' }, change] = useSearchState();
  const found = useList('evals.runs.get', { id });
  const { data, error, refetch } = found;
  return (
    <Answer of={{ data: data?.pages[0], error, refetch }} rows={12}>
      {(run) => (
        <Page
          wide
          title={
            <>
              {run.suite} <Verdict run={run} />
            </>
          }
          actions={<Cancel run={run} />}
        >
          <Facts run={run} />
          {run.error !== null && (
            <p role="alert" className="mb-4 wrap-anywhere text-bad">
              <bdi>{run.error}</bdi>
            </p>
          )}
          <Tabs
            label="Of this run"
            value={tab}
            onChange={(next) => change({ tab: next === 'matrix' ? undefined : next }, 'push')}
            tabs={[
              {
                id: 'matrix',
                title: 'Cases',
                content: () => (
                  <>
                    <Matrix run={run} rows={data?.pages.flatMap(({ cases }) => cases) ?? []} />
                    <More
                      has={found.hasNextPage}
                      busy={found.isFetchingNextPage}
                      onMore={() => void found.fetchNextPage()}
                    />
                  </>
                ),
              },
              { id: 'compare', title: 'Compare', content: () => <Compare run={run} /> },
            ]}
          />
        </Page>
      )}
    </Answer>
  );
}

// --- internal ---

function Facts({ run }: { run: EvalRun }) {
  const { summary, planned, score, suiteId, suite, note, model, createdAt, endedAt } = run;
  return (
    <>
      <dl className="mb-2 flex flex-wrap gap-x-6 gap-y-1 [&_dd]:wrap-anywhere [&_div]:flex [&_div]:gap-1.5 [&_dt]:text-muted">
        <div>
          <dt>Passed</dt>
          <dd>
            {summary.passed} of {planned}
            {summary.results < planned && `, ${summary.results} scored`}
          </dd>
        </div>
        <div>
          <dt>Score</dt>
          <dd>{toScore(score)}</dd>
        </div>
        <div>
          <dt>Tokens</dt>
          <dd>
            {summary.inputTokens.toLocaleString('en')} in, {summary.outputTokens.toLocaleString('en')} out
          </dd>
        </div>
        <div>
          <dt>Launched</dt>
          <dd>
            <Time at={createdAt} /> by <bdi>{run.startedBy}</bdi>
          </dd>
        </div>
        {endedAt !== null && (
          <div>
            <dt>Took</dt>
            <dd>{toDuration(Date.parse(endedAt) - Date.parse(createdAt))}</dd>
          </div>
        )}
        {model !== null && (
          <div>
            <dt>Model</dt>
            <dd>{model}</dd>
          </div>
        )}
        {note && (
          <div>
            <dt>Note</dt>
            <dd>
              <bdi>{note}</bdi>
            </dd>
          </div>
        )}
        <div>
          <dt>More</dt>
          <dd>
            {suiteId !== null && (
              <>
                <Link to={`/evals/suites/${suite}`}>The suite</Link>
                {' · '}
              </>
            )}
            {run.origin === 'launch' && (
              <Link to="/runs" search={{ parent: run.id }}>
                Its runs
              </Link>
            )}
          </dd>
        </div>
      </dl>
      <p className="mb-4 flex flex-wrap gap-2">
        {summary.gates.map(({ gate, wanted, got, passed }) => (
          <Badge key={gate} tone={got === null ? 'neutral' : passed ? 'good' : 'bad'}>
            {gate === 'passRate' ? 'pass rate' : gate} {toScore(got)} of {toScore(wanted)}
          </Badge>
        ))}
      </p>
    </>
  );
}

function Cancel({ run: { id, status, origin } }: { run: EvalRun }) {
  const may = useMay();
  const cancel = useChange('evals.runs.cancel');
  const { asked, ask, close } = useDialogs('cancel');
  // Live turns are scored until their day ends: there is nothing that runs.
  if (status !== 'running' || origin !== 'launch' || !may('evals:cancel')) return null;
  return (
    <>
      <Button look="danger" onClick={() => ask('cancel')}>
        Cancel
      </Button>
      {asked.cancel && (
        <Confirm
          title="Cancel this eval run?"
          verb="Cancel the run"
          danger
          onClose={close}
          onConfirm={async () => {
            await cancel.mutateAsync({ id });
            toast('The eval run was cancelled.');
          }}
        >
          What it has started ends with it. What is scored by now is kept.
        </Confirm>
      )}
    </>
  );
}
