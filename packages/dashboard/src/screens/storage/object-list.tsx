import type { OperationOutput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs, useSearchState } from '../../app/search.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { DeleteFolder, DeleteObject } from './delete.tsx';
import { endingOf, nameOf, toBytes } from './keys.ts';
import { useDownload } from './use-download.ts';
import { Move } from './move.tsx';

type StoredObject = OperationOutput<'storage.list'>['items'][number];
type Entry = { key: string; object?: StoredObject };

/** Folders, and what lies directly in this one. */
export function ObjectList({ prefix }: { prefix: string }) {
  const [, change] = useSearchState();
  const mayWrite = useMay()('storage:write');
  const { asked, ask, close } = useDialogs('move', 'delete', 'empty');
  const { download, busyKey } = useDownload();
  const objects = useList('storage.list', { delimiter: '/', limit: 200, ...(prefix ? { prefix } : {}) });
  const entries = objects.data?.pages.flatMap(({ folders, items }): Entry[] => [
    ...folders.map((key) => ({ key })),
    ...items.map((object) => ({ key: object.key, object })),
  ]);
  return (
    <>
      <List
        of={{ ...objects, items: entries }}
        label="Objects"
        keyOf={({ key }) => key}
        columns={[
          {
            title: 'Name',
            cell: ({ key, object }: Entry) =>
              object ? (
                <Button
                  look="quiet"
                  className="!justify-start !px-0 !py-0 text-left !whitespace-normal text-accent underline wrap-anywhere"
                  onClick={() => change({ object: key }, 'push')}
                >
                  <bdi>{nameOf(key)}</bdi>
                </Button>
              ) : (
                <Link to="/storage" search={{ prefix: key }}>
                  <bdi className="font-medium wrap-anywhere">{nameOf(key)}</bdi>
                </Link>
              ),
          },
          ...COLUMNS,
          {
            title: 'Actions',
            end: true,
            cell: ({ key, object }) => (
              <span className="flex flex-wrap justify-end gap-1">
                {object && (
                  <Button
                    small
                    aria-label={`Download ${nameOf(key)}`}
                    busy={busyKey === key}
                    onClick={() => void download(key)}
                  >
                    Download
                  </Button>
                )}
                {mayWrite && object && (
                  <Button small aria-label={`Move ${nameOf(key)}`} onClick={() => ask('move', key)}>
                    Move
                  </Button>
                )}
                {mayWrite && (
                  <Button
                    small
                    look="danger"
                    aria-label={`Delete ${nameOf(key)}`}
                    onClick={() => ask(object ? 'delete' : 'empty', key)}
                  >
                    Delete
                  </Button>
                )}
              </span>
            ),
          },
        ]}
        empty={<Nothing prefix={prefix} />}
      />
      {mayWrite && asked.move && <Move key={asked.move} from={asked.move} onClose={close} />}
      {mayWrite && asked.delete && <DeleteObject objectKey={asked.delete} onClose={close} />}
      {mayWrite && asked.empty && <DeleteFolder prefix={asked.empty} onClose={close} />}
    </>
  );
}

// --- internal ---

const COLUMNS: readonly Column<Entry>[] = [
  {
    title: 'Kind',
    wide: true,
    cell: ({ key, object }) => <Badge>{object ? (endingOf(key) ?? 'object') : 'folder'}</Badge>,
  },
  {
    title: 'Size',
    end: true,
    cell: ({ object }) => object && <span className="whitespace-nowrap">{toBytes(object.size)}</span>,
  },
  { title: 'Changed', wide: true, cell: ({ object }) => object && <Time at={object.lastModified} /> },
];

function Nothing({ prefix }: { prefix: string }) {
  if (prefix)
    return (
      <Empty title="No key begins like that">
        What is uploaded here makes the folder. <Link to="/storage">Show all objects</Link>
      </Empty>
    );
  return (
    <Empty title="No objects yet">
      Code keeps an object with <code>svc.storage.put</code>, and <code>svc storage put &lt;file&gt; &lt;key&gt;</code>{' '}
      uploads one.
    </Empty>
  );
}
