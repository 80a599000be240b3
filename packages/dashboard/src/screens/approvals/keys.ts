import { useEffect, useRef } from 'react';

export interface Keys {
  next(): void;
  previous(): void;
  approve(): void;
  edit(): void;
  reject(): void;
}

const OF_KEY: Readonly<Record<string, keyof Keys>> = {
  j: 'next',
  k: 'previous',
  a: 'approve',
  e: 'edit',
  r: 'reject',
};

/** Single keys, wherever the focus is, but in what takes text. */
export function useKeys(keys: Partial<Keys>): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { target, key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (target instanceof HTMLElement && target.closest('input, textarea, select, dialog, [contenteditable]')) return;
      const act = latest.current[OF_KEY[key] ?? 'next'];
      if (!(key in OF_KEY) || !act) return;
      event.preventDefault();
      act();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}
