import { useSyncExternalStore } from 'react';
import { describe } from './failure.tsx';

interface Toast {
  id: number;
  text: string;
  tone: 'good' | 'bad';
}

/** Says what was done, for some seconds; what failed stays until it is closed. */
export function toast(text: string, tone: Toast['tone'] = 'good'): void {
  const id = ++last;
  show([...shown, { id, text, tone }].slice(-MOST));
  if (tone === 'good') setTimeout(() => close(id), SHOWN_MS);
}

export function toastFailure(error: unknown): void {
  const { message, code } = describe(error);
  toast(`${message} (${code})`, 'bad');
}

export function Toasts() {
  const toasts = useSyncExternalStore(subscribe, () => shown);
  return (
    <div aria-live="polite" className="fixed right-4 bottom-4 z-50 flex max-w-sm flex-col gap-2">
      {toasts.map(({ id, text, tone }) => (
        <div
          key={id}
          className={`flex items-start gap-3 rounded-lg border px-4 py-2 shadow-lg ${tone === 'good' ? 'border-line bg-panel' : 'border-bad bg-bad-soft text-bad'}`}
        >
          <span className="min-w-0 flex-1 wrap-anywhere">{text}</span>
          <button type="button" aria-label="Close" onClick={() => close(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}

// --- internal ---

const MOST = 5;
const SHOWN_MS = 5_000;

// Of the page, as is the one place they are shown in.
let shown: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

function show(toasts: readonly Toast[]): void {
  shown = toasts;
  for (const listener of listeners) listener();
}

function close(id: number): void {
  show(shown.filter((one) => one.id !== id));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
