import { useNavigate } from '@tanstack/react-router';
import { useEffect, useId, useRef, useState } from 'react';
import { Dialog } from '../../ui/dialog.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Input } from '../../ui/field.tsx';
import type { Choice } from './choice.ts';
import { readId } from './ids.ts';
import { useChoices } from './use-choices.ts';

/** Opened with Ctrl+K or ⌘K from anywhere: screens, agents, workflows and runs by their names, and whatever has an id. */
export function Palette() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpen((before) => !before);
    };
    const onAsk = () => setOpen(true);
    addEventListener('keydown', onKey);
    addEventListener(OPEN_PALETTE, onAsk);
    return () => {
      removeEventListener('keydown', onKey);
      removeEventListener(OPEN_PALETTE, onAsk);
    };
  }, []);
  return isOpen ? <PaletteDialog onClose={() => setOpen(false)} /> : null;
}

/** Dispatched on the window by who has a button for it. */
export const OPEN_PALETTE = 'svc:palette';

// --- internal ---

const LABEL = 'Screen, agent, workflow, run or id';

function PaletteDialog({ onClose }: { onClose(): void }) {
  const navigate = useNavigate();
  const list = useId();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  // Enter was pressed while the box was still asked for an id.
  const [isWaiting, setWaiting] = useState(false);
  const { items, isLooking, error } = useChoices(text);
  const chosen = Math.min(at, items.length - 1);
  const shown = useRef<HTMLUListElement>(null);
  const go = (choice: Choice | undefined) => {
    if (!choice) return;
    onClose();
    void navigate({ to: choice.to as never, search: (choice.search ?? {}) as never });
  };
  useEffect(() => {
    if (!isWaiting || isLooking) return;
    setWaiting(false);
    if (items[0]?.id !== 'search') go(items[0]);
  });
  useEffect(() => {
    shown.current?.children[chosen]?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  const found = items.filter(({ id }) => id !== 'search').length;
  return (
    <Dialog title="Go to" onClose={onClose}>
      <Input
        autoFocus
        role="combobox"
        aria-label={LABEL}
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={chosen >= 0 ? `${list}-${chosen}` : undefined}
        placeholder={LABEL}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setAt(0);
          setWaiting(false);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') {
            event.preventDefault();
            if (isLooking && at === 0 && readId(text)) setWaiting(true);
            else go(items[chosen]);
            return;
          }
          const to = toPlace(event.key, chosen, items.length);
          if (to === undefined) return;
          event.preventDefault();
          setAt(to);
        }}
      />
      <ul
        ref={shown}
        id={list}
        role="listbox"
        aria-label="Found"
        tabIndex={-1}
        className="mt-2 max-h-[60dvh] overflow-y-auto"
      >
        {items.map((choice, i) => (
          <li
            key={choice.id}
            id={`${list}-${i}`}
            role="option"
            aria-selected={i === chosen}
            className={`flex cursor-pointer gap-2 rounded px-2 py-1.5 ${i === chosen ? 'bg-accent-soft' : 'hover:bg-raised'}`}
            onClick={() => go(choice)}
          >
            <bdi className="min-w-0 flex-1 truncate">{choice.title}</bdi>
            <span className="text-muted">{choice.kind}</span>
          </li>
        ))}
      </ul>
      <p role="status" className="mt-1 min-h-5 px-2 text-muted">
        {toNote({ isLooking, isWaiting, found, isTyped: text.trim() !== '', isId: readId(text) !== undefined })}
      </p>
      {error ? <Failure error={error} /> : null}
    </Dialog>
  );
}

/** Where a key leads in the list; undefined: it is typed. */
function toPlace(key: string, at: number, count: number): number | undefined {
  const places: Record<string, number> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + 8,
    PageUp: at - 8,
  };
  const to = places[key];
  return to === undefined ? undefined : Math.max(0, Math.min(count - 1, to));
}

interface Noted {
  isLooking: boolean;
  isWaiting: boolean;
  found: number;
  isTyped: boolean;
  isId: boolean;
}

function toNote({ isLooking, isWaiting, found, isTyped, isId }: Noted): string {
  if (isLooking && (isWaiting || found === 0)) return 'The box is asked…';
  if (!isTyped) return 'An id of a run, a session or an approval goes there too, whole or its first 8 characters.';
  if (found > 0) return '';
  return isId ? 'Nothing has that id.' : 'Nothing has that name.';
}
