import { useSearchState } from '../app/search.ts';
import { Cut } from '../ui/cut.tsx';
import { Button } from '../ui/button.tsx';
import { Copy } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';

/** The plan and the files that the agent keeps with the session. */
export function AgentState({ state }: { state: unknown }) {
  const [{ file }, change] = useSearchState();
  const { todos = [], files = {} } = (state ?? {}) as Kept;
  // The one of the address, once the agent has it.
  const open = file !== undefined && Object.hasOwn(files, file) ? file : undefined;
  const setOpen = (path: string | undefined) => change({ file: path }, path === undefined ? 'back' : 'push');
  const paths = Object.keys(files).sort();
  if (todos.length === 0 && paths.length === 0) return null;
  return (
    <aside
      aria-label="Plan and files"
      tabIndex={0}
      className="max-h-48 shrink-0 overflow-y-auto border-t border-line p-4 md:max-h-none md:w-72 md:border-t-0 md:border-l"
    >
      {todos.length > 0 && (
        <section className="mb-4">
          <h2 className="mb-1 font-medium">Plan</h2>
          <ul className="space-y-1">
            {todos.map(({ content, status }, n) => (
              <li key={n} className="flex gap-2 wrap-anywhere">
                <span aria-hidden>{MARKS[status] ?? '○'}</span>
                <span className={status === 'completed' ? 'text-muted line-through' : ''}>
                  {content} <span className="sr-only">({status.replace('_', ' ')})</span>
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {paths.length > 0 && (
        <section>
          <h2 className="mb-1 font-medium">Files</h2>
          <ul className="space-y-1">
            {paths.map((path) => (
              <li key={path}>
                <button type="button" className="text-left underline wrap-anywhere" onClick={() => setOpen(path)}>
                  {path}
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
      {open !== undefined && (
        <Dialog
          wide
          title={open}
          onClose={() => setOpen(undefined)}
          actions={
            <>
              <Copy text={files[open] ?? ''} what="file" />
              <Button onClick={() => setOpen(undefined)}>Close</Button>
            </>
          }
        >
          <Cut text={files[open] ?? ''} first={20_000}>
            {(shown) => (
              <pre
                tabIndex={0}
                className="max-h-[60dvh] overflow-auto rounded bg-page p-3 font-mono text-xs wrap-anywhere whitespace-pre-wrap"
              >
                {shown}
              </pre>
            )}
          </Cut>
        </Dialog>
      )}
    </aside>
  );
}

// --- internal ---

interface Kept {
  todos?: readonly { content: string; status: string }[];
  files?: Readonly<Record<string, string>>;
}

const MARKS: Record<string, string> = { completed: '✓', in_progress: '●', pending: '○' };
