import { useList } from '../../api/queries.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Json } from '../../ui/json/json.tsx';
import { More } from '../../ui/more.tsx';
import { Time } from '../../ui/time.tsx';
import { placeOf, STATE_TONES } from './document.ts';

/** One document, with the chunks that searches find of it. */
export function OpenDocument({ name, id, onClose }: { name: string; id: string; onClose(): void }) {
  const chunks = useList('rag.documents.get', { name, id });
  return (
    <Dialog title={id} wide onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      <Answer of={{ data: chunks.data?.pages[0], error: chunks.error, refetch: chunks.refetch }}>
        {({ title, state, error, metadata, version, answering, characters, addedBy, updatedAt }) => (
          <>
            <p className="flex flex-wrap items-center gap-2">
              <Badge tone={STATE_TONES[state]}>{state}</Badge>
              {title && <bdi className="wrap-anywhere">{title}</bdi>}
              <span className="text-muted">
                version {version}
                {answering !== version &&
                  (answering === null ? ', of which none answers yet' : `; ${answering} answers`)}
                , {characters.toLocaleString('en')} characters, <Time at={updatedAt} /> by <bdi>{addedBy}</bdi>
              </span>
            </p>
            {error && <bdi className="mt-2 block wrap-anywhere text-bad">{error}</bdi>}
            {Object.keys(metadata).length > 0 && (
              <div className="mt-3">
                <Json value={metadata} label={`Metadata of ${id}`} />
              </div>
            )}
            <h3 className="mt-4 mb-2 font-medium">Chunks</h3>
            {chunks.items?.length === 0 && <p className="text-muted">Searches find nothing of it yet.</p>}
            <ol className="flex flex-col gap-3">
              {chunks.items?.map(({ chunk, text, place }) => (
                <li key={chunk} className="rounded border border-line p-3">
                  <p className="text-xs wrap-anywhere text-muted">
                    {chunk} · <bdi>{placeOf(place)}</bdi> · {place.start} to {place.end}
                  </p>
                  <bdi className="mt-1 block whitespace-pre-wrap wrap-anywhere">{text}</bdi>
                </li>
              ))}
            </ol>
            <More
              has={chunks.hasNextPage}
              busy={chunks.isFetchingNextPage}
              onMore={() => void chunks.fetchNextPage()}
            />
          </>
        )}
      </Answer>
    </Dialog>
  );
}
