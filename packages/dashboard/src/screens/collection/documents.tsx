import { useChange, useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs, useSearchState } from '../../app/search.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { ChooseFiles } from '../../ui/choose-files.tsx';
import { Delete } from '../../ui/delete.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { List } from '../../ui/list.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { STATE_TONES } from './document.ts';
import type { Document, State } from './document.ts';

/** The documents of a collection, each with how far its embedding is. */
export function Documents({ name, onFiles }: { name: string; onFiles(files: readonly File[]): void }) {
  const mayWrite = useMay()('rag:write');
  const [{ state: asked }, change] = useSearchState();
  const state = STATES.find((each) => each === asked);
  const documents = useList('rag.documents.list', { name, ...(state ? { state } : {}) }, { keep: true });
  const { asked: dialogs, ask, close } = useDialogs('drop');
  const link: Column<Document> = {
    title: 'Document',
    cell: ({ id, title }) => (
      <>
        <Button
          look="quiet"
          className="!justify-start !px-1 text-left !whitespace-normal text-accent underline wrap-anywhere"
          onClick={() => change({ document: id }, 'push')}
        >
          <bdi>{id}</bdi>
        </Button>
        {title && <bdi className="block px-1 text-xs wrap-anywhere text-muted">{title}</bdi>}
      </>
    ),
  };
  const actions: Column<Document> = {
    title: 'Actions',
    end: true,
    cell: (document) => (
      <Button small look="danger" aria-label={`Delete ${document.id}`} onClick={() => ask('drop', document.id)}>
        Delete
      </Button>
    ),
  };
  return (
    <>
      <div className="mb-3 flex flex-wrap items-end justify-between gap-3">
        <div className="w-full max-w-60">
          <Field label="State" quiet>
            {(parts) => (
              <Select
                {...parts}
                value={state ?? ''}
                onChange={({ target }) => change({ state: target.value })}
                options={[
                  ['', 'All documents'],
                  ...STATES.map((each) => [each, `Those ${each === 'failed' ? 'that failed' : SAID[each]}`] as const),
                ]}
              />
            )}
          </Field>
        </div>
        {mayWrite && (
          <ChooseFiles label="Files to add" accept={READABLE} onChoose={onFiles}>
            Upload files
          </ChooseFiles>
        )}
      </div>
      <List
        of={documents}
        label="Documents"
        keyOf={({ id }) => id}
        columns={[link, ...COLUMNS, ...(mayWrite ? [actions] : [])]}
        empty={
          <Empty title={state ? `No document is ${SAID[state]}` : 'There is no document yet'}>
            {state
              ? 'Choose another state, or all of them.'
              : 'What is added is cut into chunks and embedded; searches find it when that is done.'}
          </Empty>
        }
      />
      {dialogs.drop !== undefined && mayWrite && <DeleteThis name={name} id={dialogs.drop} onClose={close} />}
    </>
  );
}

// --- internal ---

const READABLE = '.txt,.md,.markdown,.html,.htm,.csv,.json,.pdf,.docx';

const STATES = ['queued', 'embedding', 'ready', 'failed'] as const;
const SAID: Record<State, string> = {
  queued: 'waiting',
  embedding: 'being embedded',
  ready: 'ready',
  failed: 'failed',
};

const COLUMNS: readonly Column<Document>[] = [
  {
    title: 'State',
    cell: ({ state, error }) => (
      <>
        <Badge tone={STATE_TONES[state]}>{state}</Badge>
        {error && <bdi className="block max-w-80 text-xs wrap-anywhere text-bad">{error}</bdi>}
      </>
    ),
  },
  { title: 'Chunks', end: true, wide: true, cell: ({ chunks }) => chunks.toLocaleString('en') },
  { title: 'Characters', end: true, wide: true, cell: ({ characters }) => characters.toLocaleString('en') },
  { title: 'Added by', wide: true, cell: ({ addedBy }) => <bdi className="wrap-anywhere">{addedBy}</bdi> },
  { title: 'Changed', wide: true, cell: ({ updatedAt }) => <Time at={updatedAt} /> },
];

function DeleteThis({ name, id, onClose }: { name: string; id: string; onClose(): void }) {
  const remove = useChange('rag.documents.delete');
  return (
    <Delete name={id} onDelete={() => remove.mutateAsync({ name, id })} onClose={onClose}>
      Searches do not find it any more.
    </Delete>
  );
}
