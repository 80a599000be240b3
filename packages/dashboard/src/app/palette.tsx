import { useNavigate } from '@tanstack/react-router';
import { useEffect, useId, useState } from 'react';
import { useCall } from '../api/queries.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Input } from '../ui/field.tsx';
import { useBox, useMay } from './box.ts';
import { isOpenTo, SCREENS, toSeat } from './screens.ts';

/** Opened with Ctrl+K or ⌘K from anywhere: screens, agents, workflows and the newest runs by a part of their name. */
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

interface Choice {
  id: string;
  kind: string;
  title: string;
  to: string;
  search?: Record<string, string>;
}

const MOST = 12;

function PaletteDialog({ onClose }: { onClose(): void }) {
  const navigate = useNavigate();
  const list = useId();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const choices = useChoices(text);
  const chosen = Math.min(at, choices.length - 1);
  const go = (choice: Choice | undefined) => {
    if (!choice) return;
    onClose();
    void navigate({ to: choice.to as never, search: (choice.search ?? {}) as never });
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <Input
        autoFocus
        role="combobox"
        aria-label="Screen, agent, workflow or run"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={chosen >= 0 ? `${list}-${chosen}` : undefined}
        placeholder="Screen, agent, workflow or run"
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (event.key === 'Enter') go(choices[chosen]);
          if (step === undefined) return;
          event.preventDefault();
          setAt(Math.max(0, Math.min(choices.length - 1, chosen + step)));
        }}
      />
      <ul id={list} role="listbox" aria-label="Found" className="mt-2">
        {choices.map((choice, i) => (
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
      {choices.length === 0 && <p className="px-2 text-muted">Nothing is called that.</p>}
    </Dialog>
  );
}

function useChoices(text: string): Choice[] {
  const may = useMay();
  const seat = toSeat(useBox().bootstrap);
  const names = useCall('discovery.get', {});
  const runs = useCall('runs.list', { limit: 100 });
  const has = (id: string) => SCREENS.some((screen) => screen.id === id);
  const all: Choice[] = [
    ...SCREENS.filter((screen) => screen.group && isOpenTo(screen, seat)).map(({ id, title, path }) => ({
      id: `screen ${id}`,
      kind: 'screen',
      title,
      to: path,
    })),
    ...(names.data?.workflows ?? []).map((name) => ({
      id: `workflow ${name}`,
      kind: 'workflow',
      title: name,
      ...(has('workflow') ? { to: `/workflows/${encodeURIComponent(name)}` } : { to: '/runs', search: { name } }),
    })),
    ...(names.data?.agents ?? []).map((name) => ({
      id: `agent ${name}`,
      kind: 'agent',
      title: name,
      ...(has('playground') && may('agents:chat')
        ? { to: '/playground', search: { agent: name } }
        : { to: '/runs', search: { name } }),
    })),
    ...(runs.data?.items ?? []).map(({ runId, name, status }) => ({
      id: runId,
      kind: `run, ${status}`,
      title: `${name} ${runId.slice(0, 8)}`,
      to: `/runs/${runId}`,
    })),
  ];
  const wanted = text.trim().toLowerCase();
  return all.filter(({ title, id }) => `${title} ${id}`.toLowerCase().includes(wanted)).slice(0, MOST);
}
