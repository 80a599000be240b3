import { Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { Drawer } from '../copilot/drawer.tsx';
import { useDrawer } from '../copilot/use-drawer.ts';
import { useBox } from './box.ts';
import { ContractNote } from './contract-note.tsx';
import { Palette } from './palette/palette.tsx';
import { SCREENS } from './screens.ts';
import { SessionNote } from './session-note.tsx';
import { Sidebar } from './sidebar.tsx';
import { StreamState } from './stream-state.tsx';
import { Toasts } from '../ui/toast.tsx';

/** What surrounds every screen. */
export function Shell() {
  const { bootstrap } = useBox();
  const [isOpen, setOpen] = useState(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const id = useRouterState({ select: ({ matches }) => matches.at(-1)?.staticData.screen });
  const title = SCREENS.find((screen) => screen.id === id)?.title;
  useEffect(() => {
    document.title = title ? `${title} · ${bootstrap.name}` : bootstrap.name;
  }, [title, bootstrap.name]);
  useEffect(() => setOpen(false), [path]);
  const main = useFocusOnArrival();
  const copilot = useDrawer();
  // What lies below the drawer cannot be reached.
  const isCovered = copilot.isOpen && !copilot.isBeside;
  return (
    <div className="flex min-h-dvh flex-col md:flex-row">
      <a
        href="#content"
        inert={isCovered}
        className="sr-only rounded bg-panel px-3 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50"
      >
        Skip to the content
      </a>
      <Sidebar isOpen={isOpen} onToggle={() => setOpen(!isOpen)} copilot={copilot} isCovered={isCovered} />
      <main
        ref={main}
        id="content"
        aria-label={title}
        tabIndex={-1}
        inert={isCovered}
        className="min-w-0 flex-1 outline-none"
      >
        <SessionNote />
        <StreamState />
        <ContractNote />
        <Outlet />
      </main>
      {copilot.isOpen && <Drawer isBeside={copilot.isBeside} onClose={copilot.close} />}
      <Toasts />
      <Palette />
    </div>
  );
}

// --- internal ---

/**
 * A person who comes to another screen goes on at its beginning, and a screen reader announces its name. Whoever is in a dialog, in
 * the copilot, or was put into a field of the screen stays there.
 */
function useFocusOnArrival() {
  const main = useRef<HTMLElement>(null);
  // Once what was shown before is gone.
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  const before = useRef(path);
  useEffect(() => {
    const isFirst = before.current === undefined;
    if (before.current === path) return;
    before.current = path;
    if (isFirst) return;
    if (document.activeElement?.closest('main, dialog, aside')) return;
    main.current?.focus({ preventScroll: true });
  }, [path]);
  return main;
}
