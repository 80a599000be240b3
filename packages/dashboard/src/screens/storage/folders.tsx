import { Link } from '../../ui/link.tsx';
import { foldersTo } from './keys.ts';

/** The way to the folder that is open, each part of which leads back up. */
export function Folders({ prefix }: { prefix: string }) {
  const folders = foldersTo(prefix);
  return (
    <nav aria-label="Folders">
      <ol className="flex flex-wrap items-center gap-1">
        <li>
          {folders.length === 0 ? (
            <span aria-current="location">All objects</span>
          ) : (
            <Link to="/storage">All objects</Link>
          )}
        </li>
        {folders.map((folder, at) => (
          <li key={folder.prefix} className="flex min-w-0 items-center gap-1">
            <span aria-hidden className="text-muted">
              /
            </span>
            {at === folders.length - 1 ? (
              <bdi aria-current="location" className="wrap-anywhere">
                {folder.name}
              </bdi>
            ) : (
              <Link to="/storage" search={{ prefix: folder.prefix }}>
                <bdi className="wrap-anywhere">{folder.name}</bdi>
              </Link>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}
