import type { OperationOutput } from '@svc/runtime/client';
import { Badge } from '../../ui/badge.tsx';

export type Collection = OperationOutput<'rag.collections.list'>['items'][number];

/** How far the index of a collection is, and what failed of it. */
export function IndexState({ of: { index, counts } }: { of: Collection }) {
  return (
    <span className="flex flex-wrap gap-1">
      {index.state === 'ready' && <Badge tone="good">ready</Badge>}
      {index.state === 'indexing' && <Badge tone="accent">embedding {counts.pending}</Badge>}
      {index.next && (
        <Badge tone={index.next.state === 'stopped' ? 'bad' : 'accent'}>
          {index.next.state === 'stopped' && 'stopped on the way '}to {index.next.model}: {index.next.ready} of{' '}
          {index.next.documents}
        </Badge>
      )}
      {counts.failed > 0 && <Badge tone="bad">{counts.failed} failed</Badge>}
    </span>
  );
}
