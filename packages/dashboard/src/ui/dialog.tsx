import { useEffect, useId, useRef } from 'react';
import type { ReactNode } from 'react';

export interface DialogProps {
  title: string;
  onClose(): void;
  /** What is at its foot: the buttons. */
  actions?: ReactNode;
  wide?: boolean;
  children?: ReactNode;
}

/**
 * The browser's own dialog: it keeps the focus and gives it back, closes at Escape and at a click outside of
 * it, and what is behind cannot be reached. It is open for as long as it is rendered.
 */
export function Dialog({ title, onClose, actions, wide, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Whoever marks a text in it may end outside of it: a press that closes it begins there too.
  const isPressedBehind = useRef(false);
  useEffect(() => {
    const dialog = ref.current as HTMLDialogElement;
    const before = document.activeElement;
    // One that takes the place of another gives the focus back to where that one had it from.
    const outer = before?.closest('dialog');
    OPENERS.set(dialog, (outer && OPENERS.get(outer)) ?? before);
    dialog.showModal();
    return () => {
      const to = before?.isConnected ? before : OPENERS.get(dialog);
      if (to instanceof HTMLElement) to.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={heading}
      className={`w-full rounded-lg border border-line bg-panel p-0 shadow-xl ${wide ? 'max-w-3xl' : 'max-w-lg'}`}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={({ target }) => {
        isPressedBehind.current = target === ref.current;
      }}
      onClick={({ target, detail }) => {
        // The second click of the two that opened it is none.
        if (target === ref.current && isPressedBehind.current && detail < 2) onClose();
      }}
    >
      <div className="p-5">
        <h2 id={heading} className="text-base font-semibold wrap-anywhere">
          {title}
        </h2>
        <div className="mt-2">{children}</div>
        {actions && <div className="mt-5 flex flex-wrap justify-end gap-2">{actions}</div>}
      </div>
    </dialog>
  );
}

// --- internal ---

/** What had the focus before a dialog, outside of all dialogs. */
const OPENERS = new WeakMap<HTMLDialogElement, Element | null>();
