import { useCallback, useEffect, useState, useSyncExternalStore } from 'react';

export interface DrawerState {
  isOpen: boolean;
  /** There is room for it beside the screen. */
  isBeside: boolean;
  toggle(): void;
  close(): void;
}

/** Opened and closed with Ctrl+. or ⌘. from anywhere. */
export function useDrawer(): DrawerState {
  const [isOpen, setOpen] = useState(false);
  const isBeside = useSyncExternalStore(subscribe, () => WIDE.matches);
  const toggle = useCallback(() => setOpen((before) => !before), []);
  const close = useCallback(() => setOpen(false), []);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== '.' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      toggle();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [toggle]);
  return { isOpen, isBeside, toggle, close };
}

// --- internal ---

const WIDE = matchMedia('(min-width: 80rem)');

function subscribe(onChange: () => void): () => void {
  WIDE.addEventListener('change', onChange);
  return () => WIDE.removeEventListener('change', onChange);
}
