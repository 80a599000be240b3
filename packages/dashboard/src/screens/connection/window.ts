import { useEffect } from 'react';

/** An empty window that its page cannot reach this one from. Undefined: the browser opens none. */
export function openWindow(): Window | undefined {
  const opened = window.open('', SIGN_IN_WINDOW, 'popup,width=560,height=720');
  if (!opened) return undefined;
  opened.opener = null;
  return opened;
}

/** Says when the person may have come back: the window is closed, or this page is looked at again. */
export function useReturn(isAway: boolean, opened: Window | undefined, onReturn: () => void): void {
  useEffect(() => {
    if (!isAway) return undefined;
    let wasClosed = false;
    const timer = setInterval(() => {
      if (opened?.closed && !wasClosed) onReturn();
      wasClosed = opened?.closed ?? false;
    }, LOOK_MS);
    addEventListener('focus', onReturn);
    return () => {
      clearInterval(timer);
      removeEventListener('focus', onReturn);
    };
    // The function is another one at each drawing.
  }, [isAway, opened]);
}

// --- internal ---

/** The callback page of the box closes one of that name. */
const SIGN_IN_WINDOW = 'svc-sign-in';
const LOOK_MS = 300;
