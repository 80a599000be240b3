import type { OperationOutput } from '@svc/runtime/client';
import { Button } from '../../ui/button.tsx';
import { placeOf } from './document.ts';

type Hit = OperationOutput<'rag.search'>['items'][number];

/** What was found, the best first, with why it stands there. */
export function Hits({ hits, onOpen }: { hits: readonly Hit[]; onOpen(document: string): void }) {
  return (
    <ol aria-label="Found" className="flex flex-col gap-3">
      {hits.map((hit) => (
        <li key={`${hit.documentId} ${hit.chunk}`} className="rounded-lg border border-line bg-panel p-4">
          <div className="flex flex-wrap items-baseline gap-2">
            <Button
              look="quiet"
              className="!justify-start !px-0 !py-0 text-left !whitespace-normal text-accent underline wrap-anywhere"
              onClick={() => onOpen(hit.documentId)}
            >
              <bdi>{hit.title ?? hit.documentId}</bdi>
            </Button>
            <span className="flex-1 text-xs wrap-anywhere text-muted">
              <bdi>{placeOf(hit.place)}</bdi>
            </span>
          </div>
          <bdi className="mt-2 block whitespace-pre-wrap wrap-anywhere">{hit.text}</bdi>
          <p className="mt-2 text-xs text-muted tabular-nums">{whyOf(hit)}</p>
        </li>
      ))}
    </ol>
  );
}

// --- internal ---

/** Its score, that of a rerank, and where it is in each of the two lists that were made one. */
function whyOf({ score, vectorRank, textRank, similarity, rerankScore }: Hit): string {
  const near = similarity === null ? '' : ` (similarity ${similarity.toFixed(3)})`;
  return [
    ...(rerankScore === null ? [] : [`rerank ${rerankScore.toFixed(3)}`]),
    `score ${score.toFixed(3)}`,
    ...(vectorRank === null ? [] : [`#${vectorRank} by meaning${near}`]),
    ...(textRank === null ? [] : [`#${textRank} by words`]),
  ].join(' · ');
}
