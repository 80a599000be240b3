import { useEffect, useRef, useState } from 'react';
import type { RefObject } from 'react';
import { newId } from '../api/new-id.ts';
import { useBox } from '../app/box.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Loading } from '../ui/loading.tsx';
import { forgetThread, keepThread, readThread } from './kept.ts';
import { OffNote } from './off-note.tsx';
import { Talk } from './talk.tsx';
import { useCopilotState } from './use-off.ts';

/** What is in the drawer: the conversation, or why there is none. */
export default function Panel({ onClose }: { onClose(): void }) {
  const { bootstrap } = useBox();
  const state = useCopilotState();
  const [{ threadId, isNew }, setThread] = useState(() => {
    const kept = readThread(bootstrap);
    return { threadId: kept ?? newId(), isNew: kept === undefined };
  });
  const begin = (): void => {
    keepThread(bootstrap, threadId);
    // Should there be none to talk to for a while, it is read again afterwards.
    setThread({ threadId, isNew: false });
  };
  const isHere = useIsHere();
  const draft = useRef('');
  const startAnew = (): void => {
    forgetThread(bootstrap);
    setThread({ threadId: newId(), isNew: true });
  };
  return (
    <>
      <div className="flex items-center gap-2 border-b border-line px-4 py-2">
        <h2 className="min-w-0 flex-1 font-semibold">Copilot</h2>
        {state.is === 'on' && (
          <Button small onClick={startAnew}>
            New conversation
          </Button>
        )}
        <Button small look="quiet" aria-label="Close the copilot" onClick={onClose}>
          <span aria-hidden>✕</span>
        </Button>
      </div>
      {state.is === 'asked' && <Loading />}
      {state.is === 'refused' && <Failure error={state.error} onRetry={state.retry} />}
      {state.is === 'off' && (
        <OffNote reason={state.reason} detail={state.detail} onRetry={state.retry} takesFocus={isHere.current} />
      )}
      {state.is === 'on' && (
        <Talk
          key={threadId}
          threadId={threadId}
          isNew={isNew}
          onBegin={begin}
          takesFocus={isHere.current}
          draft={draft}
          lost={state.lost}
        />
      )}
    </>
  );
}

// --- internal ---

/**
 * Whether the person was last in the drawer, where what comes in the place of something else takes the focus. Who is on the
 * screen meanwhile stays there, also where a button releases it.
 */
function useIsHere(): RefObject<boolean> {
  const isHere = useRef(true);
  useEffect(() => {
    const look = ({ target }: FocusEvent): void => {
      isHere.current = target instanceof Element && target.closest('#copilot') !== null;
    };
    document.addEventListener('focusin', look);
    return () => document.removeEventListener('focusin', look);
  }, []);
  return isHere;
}
