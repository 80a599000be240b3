import type { OperationOutput } from '@svc/runtime/client';
import { useCall } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { Link } from '../../ui/link.tsx';
import { New } from '../../ui/new.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import type { Column } from '../../ui/table.tsx';
import { CodeState } from './code-state.tsx';
import { SendEvent } from './send-event.tsx';

type Workflow = OperationOutput<'workflows.list'>['items'][number];

/** What can be started. */
export default function Workflows() {
  const [{ q = '' }, change] = useSearchState();
  const workflows = useCall('workflows.list', {});
  const mayStart = useMay()('workflows:start');
  return (
    <Page
      title="Workflows"
      actions={
        mayStart && (
          <New label="Send an event" name="event" plain>
            {(close) => <SendEvent known={eventsOf(workflows.data?.items ?? [])} onClose={close} />}
          </New>
        )
      }
    >
      <Answer of={workflows}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="This workspace has no workflow yet">
              Write one in <code>workflows/&lt;name&gt;.workflow.ts</code>, or let <code>svc add workflow</code> make
              one. It appears here by itself.
            </Empty>
          ) : (
            <>
              <div className="mb-3 max-w-72">
                <Field label="Find a workflow" quiet>
                  {(parts) => (
                    <Input
                      {...parts}
                      type="search"
                      placeholder="Find a workflow"
                      value={q}
                      onChange={({ target }) => change({ q: target.value })}
                    />
                  )}
                </Field>
              </div>
              <Found items={items} query={q} />
            </>
          )
        }
      </Answer>
    </Page>
  );
}

// --- internal ---

function eventsOf(workflows: readonly Workflow[]): string[] {
  return [...new Set(workflows.flatMap(({ event }) => event ?? []))].sort();
}

function Found({ items, query }: { items: Workflow[]; query: string }) {
  const found = items.filter(({ name }) => name.toLowerCase().includes(query.toLowerCase()));
  if (found.length === 0)
    return <Empty title={`No workflow has “${query}” in its name`}>Look for another part of it.</Empty>;
  return <Table label="Workflows" columns={COLUMNS} rows={found} keyOf={({ name }) => name} />;
}

const COLUMNS: readonly Column<Workflow>[] = [
  {
    title: 'Name',
    cell: ({ name }) => (
      <Link to={`/workflows/${encodeURIComponent(name)}`}>
        <bdi>{name}</bdi>
      </Link>
    ),
  },
  { title: 'State', cell: ({ state, problem }) => <CodeState state={state} problem={problem} /> },
  { title: 'Input', cell: ({ hasSchema }) => (hasSchema ? '◆ schema' : '◇ anything') },
  { title: 'Mode', wide: true, cell: ({ mode }) => <Badge>{mode}</Badge> },
  { title: 'At once', wide: true, cell: (workflow) => <AtOnce of={workflow} /> },
  {
    title: 'Starts by',
    wide: true,
    cell: ({ event }) =>
      event === null ? <span className="text-muted">–</span> : <code className="text-xs wrap-anywhere">{event}</code>,
  },
  { title: 'Steps', end: true, wide: true, cell: ({ steps }) => steps.length },
  {
    title: 'Timers',
    end: true,
    wide: true,
    cell: ({ name, schedules }) =>
      schedules === 0 ? (
        <span className="text-muted">–</span>
      ) : (
        <Link to="/jobs" search={{ workflow: name }} aria-label={`Timers of ${name}`}>
          {schedules}
        </Link>
      ),
  },
];

function AtOnce({ of: { serial, concurrency } }: { of: Workflow }) {
  if (serial) return 'one run';
  if (!concurrency) return <span className="text-muted">any number</span>;
  return `${concurrency.limit}${concurrency.isKeyed ? ' per key' : ''}`;
}
