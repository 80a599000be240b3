import { Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { Drawer } from '../copilot/drawer.tsx';
import { useDrawer } from '../copilot/use-drawer.ts';
import { useBox } from './box.ts';
import { ContractNote } from './contract-note.tsx';
import { Palette } from './palette.tsx';
import { SCREENS } from './screens.ts';
import { SessionNote } from './session-note.tsx';
import { Sidebar } from './sidebar.tsx';
import { StreamState } from './stream-state.tsx';
import { Toasts } from '../ui/toast.tsx';

/** What stands around every screen. */
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
      <main id="content" tabIndex={-1} inert={isCovered} className="min-w-0 flex-1 outline-none">
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
