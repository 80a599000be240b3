import { CatchBoundary } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { Failure } from '../ui/failure.tsx';
import { Loading } from '../ui/loading.tsx';

const Panel = lazy(() => import('./panel.tsx'));

export interface DrawerProps {
  /** There is room for it beside the screen; otherwise it lies above it. */
  isBeside: boolean;
  onClose(): void;
}

/** Where the copilot is talked to, at the right of every screen. It is open for as long as it is rendered. */
export function Drawer({ isBeside, onClose }: DrawerProps) {
  const ref = useRef<HTMLElement>(null);
  const [before] = useState(() => document.activeElement);
  useEffect(() => {
    // The panel may have taken it by now, to where a message is written.
    if (!ref.current?.contains(document.activeElement)) ref.current?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, [before]);
  const place = isBeside
    ? 'sticky top-0 h-dvh w-[27rem] shrink-0'
    : 'fixed inset-y-0 right-0 z-40 w-full max-w-[27rem] shadow-xl';
  return (
    <>
      {!isBeside && <div aria-hidden className="fixed inset-0 z-30 bg-black/40" onClick={onClose} />}
      <aside
        ref={ref}
        id="copilot"
        tabIndex={-1}
        aria-label="Copilot"
        className={`flex flex-col border-l border-line bg-panel outline-none ${place}`}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || event.defaultPrevented) return;
          event.preventDefault();
          onClose();
        }}
      >
        <CatchBoundary
          getResetKey={() => 'copilot'}
          errorComponent={({ error, reset }) => (
            <div className="px-4">
              <Failure error={error} onRetry={reset} />
            </div>
          )}
        >
          <Suspense fallback={<Loading />}>
            <Panel onClose={onClose} />
          </Suspense>
        </CatchBoundary>
      </aside>
    </>
  );
}
