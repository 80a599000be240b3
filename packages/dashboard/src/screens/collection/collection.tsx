import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useLeave } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs, usePathParams, useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { Delete } from '../../ui/delete.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { CollectionForm } from '../knowledge/collection-form.tsx';
import { useFollowWork } from '../../api/follow-work.ts';
import { IndexState } from '../knowledge/index-state.tsx';
import { AddDocument } from './add-document.tsx';
import { Documents } from './documents.tsx';
import { Files } from './files.tsx';
import { NextIndex } from './next-index.tsx';
import { OpenDocument } from './open-document.tsx';
import { Reindex } from './reindex.tsx';
import { Search } from './search.tsx';
import { useFiles } from './use-files.ts';

type CollectionDetail = OperationOutput<'rag.collections.get'>;

/** One collection: its documents, and what a search finds in them. */
export default function CollectionScreen() {
  const { name = '' } = usePathParams();
  const collection = useCall('rag.collections.get', { name });
  const shown = <Answer of={collection}>{(detail) => <Detail key={name} collection={detail} />}</Answer>;
  return collection.data ? shown : <Page title={name}>{shown}</Page>;
}

// --- internal ---

function Detail({ collection }: { collection: CollectionDetail }) {
  const { name, description, embedding, chunking, counts, index, rerankModel } = collection;
  const may = useMay();
  const [{ tab = 'documents', document }, change] = useSearchState();
  const { asked, ask, close } = useDialogs('add', 'change', 'reindex', 'delete');
  const files = useFiles(name);
  useFollowWork('rag', index.state !== 'ready');
  return (
    <Page
      title={name}
      actions={
        <>
          {may('rag:write') && (
            <Button look="primary" onClick={() => ask('add')}>
              Add a document
            </Button>
          )}
          {may('rag:admin') && (
            <Menu
              label="More"
              items={[
                { label: 'Change', onSelect: () => ask('change') },
                { label: 'Re-embed', onSelect: () => ask('reindex') },
                { label: 'Delete', danger: true, onSelect: () => ask('delete') },
              ]}
            />
          )}
        </>
      }
    >
      {description && <bdi className="mb-2 block wrap-anywhere">{description}</bdi>}
      <div className="mb-4 flex flex-wrap items-center gap-x-3 gap-y-1 text-muted">
        <IndexState of={collection} />
        <span>
          {amount(counts.documents, 'document')}, {amount(counts.chunks, 'chunk')}
        </span>
        <span className="wrap-anywhere">
          <code className="text-xs">{embedding.model}</code>, {embedding.dimension} numbers
        </span>
        {rerankModel && (
          <span className="wrap-anywhere">
            reranked by <code className="text-xs">{rerankModel}</code>
          </span>
        )}
        <span>
          chunks of {chunking.size} tokens, {chunking.overlap} repeated
        </span>
      </div>
      <NextIndex of={collection} />
      <Files of={files} />
      <Tabs
        label="Collection"
        value={tab}
        onChange={(next) => change({ tab: next === 'documents' ? undefined : next }, 'push')}
        tabs={[
          { id: 'documents', title: 'Documents', content: () => <Documents name={name} onFiles={files.add} /> },
          { id: 'search', title: 'Search', content: () => <Search name={name} /> },
        ]}
      />
      {document && (
        <OpenDocument
          key={document}
          name={name}
          id={document}
          onClose={() => change({ document: undefined }, 'back')}
        />
      )}
      {asked.add && may('rag:write') && <AddDocument name={name} onClose={close} />}
      {asked.change && may('rag:admin') && <CollectionForm collection={collection} onClose={close} />}
      {asked.reindex && may('rag:admin') && <Reindex collection={collection} onClose={close} />}
      {asked.delete && may('rag:admin') && <DeleteThis collection={collection} onClose={close} />}
    </Page>
  );
}

function amount(count: number, what: string): string {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;
}

function DeleteThis({ collection: { name, counts }, onClose }: { collection: CollectionDetail; onClose(): void }) {
  const remove = useLeave('rag.collections.delete');
  return (
    <Delete name={name} to="/knowledge" onDelete={() => remove.mutateAsync({ name })} onClose={onClose}>
      {amount(counts.documents, 'document')} and their vectors go with it. What searches it is refused from then on.
    </Delete>
  );
}
