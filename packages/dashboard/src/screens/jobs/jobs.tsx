import type { OperationOutput } from '@svc/runtime/client';
import { useChange, useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs, useSearchState } from '../../app/search.ts';
import { Badge, Status } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Delete } from '../../ui/delete.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { toast, toastFailure } from '../../ui/toast.tsx';
import { Firings } from './firings.tsx';

type Job = OperationOutput<'jobs.list'>['items'][number];

/** What begins by itself, and when. */
export default function Jobs() {
  const [{ workflow, job }, change] = useSearchState();
  const mayWrite = useMay()('jobs:write');
  const { asked, ask, close } = useDialogs('delete');
  const jobs = useList('jobs.list', workflow ? { workflow } : {}, { keep: true });
  const deleted = jobs.items?.find(({ id, origin }) => id === asked.delete && origin === 'made' && mayWrite);
  return (
    <Page
      title="Recurring jobs"
      actions={
        workflow && <Button onClick={() => change({ workflow: undefined }, 'push')}>Of {workflow} · show all</Button>
      }
    >
      <List
        of={jobs}
        label="Recurring jobs"
        keyOf={({ id }) => id}
        columns={[
          ...COLUMNS,
          {
            title: 'Actions',
            end: true,
            cell: (row: Job) => <Actions job={row} onDelete={() => ask('delete', row.id)} />,
          },
        ]}
        empty={
          <Empty title="There is no timer here">
            A workflow declares its own with <code>schedules</code>, and code makes others with{' '}
            <code>svc.schedules.create</code>.
          </Empty>
        }
      />
      {job && <Firings id={job} onClose={() => change({ job: undefined }, 'back')} />}
      {deleted && <DeleteThis id={deleted.id} onClose={close} />}
    </Page>
  );
}

// --- internal ---

const COLUMNS: readonly Column<Job>[] = [
  {
    title: 'Workflow',
    cell: ({ workflow, id }) => (
      <>
        <Link to={`/workflows/${encodeURIComponent(workflow)}`}>
          <bdi>{workflow}</bdi>
        </Link>
        <code className="block text-xs text-muted wrap-anywhere">{id}</code>
      </>
    ),
  },
  { title: 'When', cell: (job) => <When job={job} /> },
  {
    title: 'Next',
    cell: ({ isPaused, nextFireAt, waitingFor }) => (
      <>
        {isPaused ? <Badge tone="warn">paused</Badge> : <Time at={nextFireAt} />}
        {waitingFor && <bdi className="block max-w-96 text-xs wrap-anywhere text-bad">{waitingFor.message}</bdi>}
      </>
    ),
  },
  { title: 'Last', wide: true, cell: (job) => <Last job={job} /> },
];

function When({ job: { cron, timeZone } }: { job: Job }) {
  if (cron === null) return 'once';
  return (
    <>
      <code className="text-xs whitespace-nowrap">{cron}</code>
      {timeZone && <span className="block text-xs text-muted">{timeZone}</span>}
    </>
  );
}

function Last({ job: { lastFiredAt, lastOutcome, lastRunId, lastError } }: { job: Job }) {
  if (lastFiredAt === null) return <span className="text-muted">never</span>;
  return (
    <span className="flex flex-wrap items-center gap-1.5" title={lastError?.message}>
      <Time at={lastFiredAt} />
      {lastOutcome && <Status value={lastOutcome} />}
      {lastRunId && <Link to={`/runs/${lastRunId}`}>run</Link>}
    </span>
  );
}

function Actions({ job, onDelete }: { job: Job; onDelete(): void }) {
  const may = useMay();
  const [, change] = useSearchState();
  const run = useChange('jobs.run', ['jobs', 'runs']);
  const update = useChange('jobs.update');
  const { id, isPaused, origin } = job;
  const act = async (done: Promise<unknown>, text: string): Promise<void> => {
    try {
      await done;
      toast(text);
    } catch (error) {
      toastFailure(error);
    }
  };
  return (
    <span className="flex flex-wrap justify-end gap-1">
      <Button small aria-label={`Firings of ${id}`} onClick={() => change({ job: id }, 'push')}>
        Firings
      </Button>
      {may('workflows:start') && (
        <Button
          small
          aria-label={`Run ${id} now`}
          busy={run.isPending}
          onClick={() => void act(run.mutateAsync({ id }), `${id} was run.`)}
        >
          Run now
        </Button>
      )}
      {may('jobs:write') && (
        <Button
          small
          aria-label={`${isPaused ? 'Resume' : 'Pause'} ${id}`}
          busy={update.isPending}
          onClick={() =>
            void act(
              update.mutateAsync({ id, isPaused: !isPaused }),
              `${id} is ${isPaused ? 'armed again' : 'paused'}.`,
            )
          }
        >
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
      )}
      {may('jobs:write') && origin === 'made' && (
        <Button small look="danger" aria-label={`Delete ${id}`} onClick={onDelete}>
          Delete
        </Button>
      )}
    </span>
  );
}

function DeleteThis({ id, onClose }: { id: string; onClose(): void }) {
  const remove = useChange('jobs.delete');
  return (
    <Delete name={id} onDelete={() => remove.mutateAsync({ id })} onClose={onClose}>
      It does not fire again. Code can create it again.
    </Delete>
  );
}
