import { useEffect } from 'react';

/** An empty window that its page cannot reach this one from. Undefined: the browser opens none. */
export function openWindow(): Window | undefined {
  const opened = window.open('', SIGN_IN_WINDOW, 'popup,width=560,height=720');
  if (!opened) return undefined;
  opened.opener = null;
  return opened;
}

/**
 * Says when the person may have come back: the window is closed, or this page is looked at again; and now and then. Of a service
 * whose pages cut off their opener nothing else is known: its window looks closed at once, and closes nowhere.
 */
export function useReturn(isAway: boolean, opened: Window | undefined, onReturn: () => void): void {
  useEffect(() => {
    if (!isAway) return undefined;
    let wasClosed = false;
    const timer = setInterval(() => {
      if (opened?.closed && !wasClosed) onReturn();
      wasClosed = opened?.closed ?? false;
    }, LOOK_MS);
    const asking = setInterval(onReturn, ASK_MS);
    addEventListener('focus', onReturn);
    return () => {
      clearInterval(timer);
      clearInterval(asking);
      removeEventListener('focus', onReturn);
    };
    // The function is another one at each drawing.
  }, [isAway, opened]);
}

// --- internal ---

/** The callback page of the box closes one of that name. */
const SIGN_IN_WINDOW = 'svc-sign-in';
const LOOK_MS = 300;
const ASK_MS = 3_000;
