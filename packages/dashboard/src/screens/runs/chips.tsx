import type { Search } from '../../app/search.ts';
import { Button } from '../../ui/button.tsx';

/** What a link has narrowed the list to, and no field shows. Each can be taken away. */
export function Chips({ search, onChange }: { search: Search; onChange(change: Search): void }) {
  const shown = Object.entries(TITLES).flatMap(([name, title]) => {
    const value = search[name];
    return value ? [{ name, title, value }] : [];
  });
  if (shown.length === 0) return null;
  return (
    <ul aria-label="Narrowed down to" className="mb-3 flex flex-wrap gap-2">
      {shown.map(({ name, title, value }) => (
        <li key={name} className="flex min-w-0 items-center gap-2 rounded border border-line bg-raised px-2 py-0.5">
          <span className="min-w-0 truncate">
            {title} <bdi className="font-mono text-xs">{value}</bdi>
          </span>
          <Button small look="quiet" aria-label={`Of any: ${title}`} onClick={() => onChange({ [name]: undefined })}>
            ✕
          </Button>
        </li>
      ))}
    </ul>
  );
}

// --- internal ---

const TITLES: Readonly<Record<string, string>> = {
  parent: 'Started by the run',
  retryOf: 'Repeats the run',
  forkedFrom: 'Forked from the run',
  session: 'Of the session',
  attribute: 'With the attribute',
  user: 'For the user',
};
