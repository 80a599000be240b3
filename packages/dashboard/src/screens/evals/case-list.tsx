import { useCall, useChange, useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs, useSearchState } from '../../app/search.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Delete } from '../../ui/delete.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import type { Case } from './case-draft.ts';
import { CaseForm } from './case-form.tsx';

/** All cases, newest first; the one of the address is open. */
export function CaseList() {
  const mayWrite = useMay()('evals:write');
  const [{ case: opened, tag }, change] = useSearchState();
  const cases = useList('evals.cases.list', tag === undefined ? {} : { tag });
  const { asked, ask, close } = useDialogs('delete');
  const removed = mayWrite ? cases.items?.find(({ id }) => id === asked.delete) : undefined;
  const actions: Column<Case> = {
    title: 'Actions',
    end: true,
    cell: (one) => (
      <span className="flex flex-wrap justify-end gap-1">
        <Button small aria-label={`Change ${one.name}`} onClick={() => change({ case: one.id }, 'push')}>
          Change
        </Button>
        <Button small look="danger" aria-label={`Delete ${one.name}`} onClick={() => ask('delete', one.id)}>
          Delete
        </Button>
      </span>
    ),
  };
  return (
    <>
      {tag !== undefined && (
        <p className="mb-3">
          Tagged <Badge>{tag}</Badge>{' '}
          <Button small onClick={() => change({ tag: undefined })}>
            Show all
          </Button>
        </p>
      )}
      <List
        of={cases}
        label="Cases"
        keyOf={({ id }) => id}
        columns={[...COLUMNS, ...(mayWrite ? [actions] : [])]}
        empty={
          <Empty title="There is no case yet">
            A case is something an agent or a workflow is asked, with what is expected. A run that went well becomes one
            on its page: <i>More</i>, <i>Make an eval case</i>.
          </Empty>
        }
      />
      {mayWrite && opened !== undefined && <Opened id={opened} onClose={() => change({ case: undefined }, 'back')} />}
      {removed && <DeleteThis of={removed} onClose={close} />}
    </>
  );
}

// --- internal ---

function Opened({ id, onClose }: { id: string; onClose(): void }) {
  const found = useCall('evals.cases.get', { id });
  if (found.error) return <Failure error={found.error} />;
  return found.data ? <CaseForm key={id} of={found.data} onClose={onClose} /> : null;
}

function DeleteThis({ of: { id, name }, onClose }: { of: Case; onClose(): void }) {
  const remove = useChange('evals.cases.delete');
  return (
    <Delete
      name={`“${name}”`}
      done="The case is deleted."
      onDelete={() => remove.mutateAsync({ id })}
      onClose={onClose}
    >
      It is in no suite any more. Runs keep what they have of it.
    </Delete>
  );
}

const COLUMNS: readonly Column<Case>[] = [
  {
    title: 'Case',
    cell: ({ name, target, fromRunId }) => (
      <>
        <bdi className="wrap-anywhere">{name}</bdi>
        <span className="block text-xs text-muted">
          {target.kind} <bdi>{target.name}</bdi>
          {fromRunId !== null && (
            <>
              {' · '}
              <Link to={`/runs/${fromRunId}`}>its run</Link>
            </>
          )}
        </span>
      </>
    ),
  },
  {
    title: 'Tags',
    wide: true,
    cell: ({ tags }) => (
      <span className="flex flex-wrap gap-1">
        {tags.map((tag) => (
          <Link key={tag} to="/evals" search={{ tab: 'cases', tag }}>
            {tag}
          </Link>
        ))}
      </span>
    ),
  },
  { title: 'Scorers', wide: true, cell: ({ scorers }) => scorers.map(({ name, type }) => name ?? type).join(', ') },
  { title: 'Changed', wide: true, cell: ({ updatedAt }) => <Time at={updatedAt} /> },
];
