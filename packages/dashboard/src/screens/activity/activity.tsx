import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useList } from '../../api/queries.ts';
import { useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { Json } from '../../ui/json/json.tsx';
import { List } from '../../ui/list.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time, toWhole } from '../../ui/time.tsx';

type Entry = OperationOutput<'activity.list'>['items'][number];

const FILTERS = [
  { name: 'operation', label: 'Operation', example: 'config.set' },
  { name: 'target', label: 'What was changed', example: 'its id or name' },
  { name: 'actor', label: 'Who', example: 'the id of who did it' },
] as const;

/** Who changed or decided what. */
export default function Activity() {
  const [search, change] = useSearchState();
  const given = FILTERS.flatMap(({ name }) => (search[name] ? [[name, search[name]] as const] : []));
  const entries = useList('activity.list', Object.fromEntries(given), { keep: true });
  return (
    <Page title="Activity">
      <div className="mb-3 flex flex-wrap items-end gap-3">
        {FILTERS.map(({ name, label, example }) => (
          <Field key={name} label={label}>
            {(parts) => (
              <Input
                {...parts}
                type="search"
                placeholder={example}
                value={search[name] ?? ''}
                onChange={({ target }) => change({ [name]: target.value })}
              />
            )}
          </Field>
        ))}
      </div>
      <List
        of={entries}
        label="Changes"
        keyOf={({ id }) => id}
        columns={[
          ...COLUMNS,
          {
            title: 'Details',
            end: true,
            cell: ({ id, operation }: Entry) => (
              <Button small aria-label={`What ${operation} changed`} onClick={() => change({ entry: id }, 'push')}>
                Show
              </Button>
            ),
          },
        ]}
        empty={
          given.length > 0 ? (
            <Empty title="No change matches">
              <Button onClick={() => change({ operation: undefined, target: undefined, actor: undefined })}>
                Show all changes
              </Button>
            </Empty>
          ) : (
            <Empty title="Nothing was changed yet">Changes and decisions are listed here, with who made them.</Empty>
          )
        }
      />
      {search['entry'] && <Change id={search['entry']} onClose={() => change({ entry: undefined }, 'back')} />}
    </Page>
  );
}

// --- internal ---

const COLUMNS: readonly Column<Entry>[] = [
  { title: 'When', cell: ({ at }) => <Time at={at} /> },
  {
    title: 'Who',
    cell: ({ actor: { name, role, user } }) => (
      <>
        <bdi>{user ? `${user} of ${name}` : name}</bdi> {role && <Badge>{role}</Badge>}
      </>
    ),
  },
  { title: 'What', cell: ({ operation }) => <code className="text-xs">{operation}</code> },
  {
    title: 'Of',
    wide: true,
    cell: ({ target }) => <bdi className="wrap-anywhere">{Object.values(target).join(', ') || '–'}</bdi>,
  },
  { title: 'By', wide: true, cell: ({ source }) => source },
];

function Change({ id, onClose }: { id: string; onClose(): void }) {
  const entry = useCall('activity.get', { id });
  return (
    <Dialog title="What was changed" wide onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      <Answer of={entry}>
        {({ operation, at, requestId, before, after }) => (
          <>
            <p className="text-muted">
              <code>{operation}</code> · {toWhole(at)}
              {requestId && (
                <>
                  {' '}
                  · request <code className="wrap-anywhere">{requestId}</code>
                </>
              )}
            </p>
            <div className="mt-3 grid gap-4 md:grid-cols-2">
              <div className="min-w-0">
                <h3 className="mb-1 font-medium">Before</h3>
                <Json value={before} label="Before" />
              </div>
              <div className="min-w-0">
                <h3 className="mb-1 font-medium">After</h3>
                <Json value={after} label="After" />
              </div>
            </div>
          </>
        )}
      </Answer>
    </Dialog>
  );
}
