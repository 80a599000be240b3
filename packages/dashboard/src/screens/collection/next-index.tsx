import { useChange } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Panel } from '../../ui/page.tsx';
import { BAR } from '../../ui/progress.ts';
import type { Collection } from '../knowledge/index-state.tsx';

/** How far a collection is that is re-embedded, and what keeps it. */
export function NextIndex({ of: { name, embedding, index } }: { of: Collection }) {
  const mayAdmin = useMay()('rag:admin');
  const again = useChange('rag.collections.reindex');
  if (!index.next) return null;
  const { model, dimension, state, documents, ready, failed, error } = index.next;
  const isStopped = state === 'stopped';
  return (
    <Panel
      title={isStopped ? 'It could not be re-embedded' : 'It is being re-embedded'}
      actions={
        isStopped &&
        mayAdmin && (
          <Button small busy={again.isPending} onClick={() => again.mutate({ name, model })}>
            Try again
          </Button>
        )
      }
    >
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <progress aria-label="Documents re-embedded" className={BAR} max={Math.max(1, documents)} value={ready} />
        <span role="status">
          {ready.toLocaleString('en')} of {documents.toLocaleString('en')} documents
          {failed > 0 && `, ${failed.toLocaleString('en')} failed`}
        </span>
        <span className="wrap-anywhere text-muted">
          to <code className="text-xs">{model}</code>, {dimension} numbers
        </span>
      </p>
      {error !== null && <bdi className="mt-2 block wrap-anywhere text-bad">{error}</bdi>}
      <p className="mt-2 text-xs wrap-anywhere text-muted">
        Searches are answered by <code>{embedding.model}</code> until all of them are.
      </p>
      {again.error && <Failure error={again.error} />}
    </Panel>
  );
}
