import { useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import { New } from '../../ui/new.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { CollectionForm } from './collection-form.tsx';
import { useFollowWork } from '../../api/follow-work.ts';
import { IndexState } from './index-state.tsx';
import type { Collection } from './index-state.tsx';

/** The collections of documents that agents and workflows search. */
export default function Knowledge() {
  const mayAdmin = useMay()('rag:admin');
  const collections = useList('rag.collections.list', {});
  useFollowWork('rag', collections.items?.some(({ index }) => index.state !== 'ready') ?? false);
  return (
    <Page
      title="Knowledge"
      actions={mayAdmin && <New label="New collection">{(close) => <CollectionForm onClose={close} />}</New>}
    >
      <List
        of={collections}
        label="Collections"
        keyOf={({ name }) => name}
        columns={COLUMNS}
        empty={
          <Empty title="There is no collection yet">
            A collection has documents that agents and workflows search by meaning and by words, with{' '}
            <code>svc.rag</code>.
          </Empty>
        }
      />
    </Page>
  );
}

// --- internal ---

const COLUMNS: readonly Column<Collection>[] = [
  {
    title: 'Collection',
    cell: ({ name, description }) => (
      <>
        <Link to={`/knowledge/${name}`} className="text-accent underline wrap-anywhere">
          {name}
        </Link>
        {description && <bdi className="block max-w-96 text-xs wrap-anywhere text-muted">{description}</bdi>}
      </>
    ),
  },
  { title: 'Index', cell: (collection) => <IndexState of={collection} /> },
  { title: 'Documents', end: true, cell: ({ counts }) => counts.documents.toLocaleString('en') },
  { title: 'Chunks', end: true, wide: true, cell: ({ counts }) => counts.chunks.toLocaleString('en') },
  {
    title: 'Model',
    wide: true,
    cell: ({ embedding: { model, dimension } }) => (
      <code className="text-xs wrap-anywhere">
        {model}, {dimension}
      </code>
    ),
  },
  { title: 'Changed', wide: true, cell: ({ updatedAt }) => <Time at={updatedAt} /> },
];
