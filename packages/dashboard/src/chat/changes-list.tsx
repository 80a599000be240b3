import { useMemo } from 'react';
import { listChanges, MOST_CHANGES, toBrief } from './changes.ts';

/** What someone has changed, a line a place: `amount: 500 → 4`. Nothing where nothing is. */
export function Changes({ title, before, after }: { title: string; before: unknown; after: unknown }) {
  const changes = useMemo(() => listChanges(before, after), [before, after]);
  if (changes.length === 0) return null;
  return (
    <section aria-label={title} className="min-w-0 rounded border border-line bg-page p-2">
      <p className="mb-1 text-xs font-medium text-muted">{title}</p>
      <ul className="space-y-0.5 font-mono text-xs wrap-anywhere">
        {changes.map((change) => (
          <li key={change.path.join('\u0000')}>
            <bdi className="font-medium">{change.path.length === 0 ? 'all of it' : change.path.join('.')}</bdi>:{' '}
            <del className="text-bad no-underline">
              <bdi>{change.before ? toBrief(change.before.value) : 'nothing'}</bdi>
            </del>
            {' → '}
            <ins className="text-good no-underline">
              <bdi>{change.after ? toBrief(change.after.value) : 'nothing'}</bdi>
            </ins>
          </li>
        ))}
      </ul>
      {changes.length === MOST_CHANGES && <p className="text-xs text-muted">There may be more.</p>}
    </section>
  );
}
