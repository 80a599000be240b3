import type { KeyboardEvent, ReactNode } from 'react';

/** Arrows go from row to row. */
export function RunRows({ children }: { children: ReactNode }) {
  return <div onKeyDown={moveBetweenRows}>{children}</div>;
}

// --- internal ---

function moveBetweenRows(event: KeyboardEvent<HTMLElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  // The first of each: a row may have more.
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>('tbody td:first-child a')];
  const row = document.activeElement?.closest('tr');
  const at = links.findIndex((link) => row !== null && link.closest('tr') === row);
  event.preventDefault();
  links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
}
