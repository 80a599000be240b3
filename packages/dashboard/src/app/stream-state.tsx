import { useSyncExternalStore } from 'react';
import { useBox } from './box.ts';

/** Says that what is shown may be old, for as long as the stream of events is lost. */
export function StreamState() {
  const { events, session } = useBox();
  const state = useSyncExternalStore(events.onState, events.state);
  const isSignedOut = useSyncExternalStore(session.on, session.isOver);
  return (
    <div role="status">
      {state === 'lost' && !isSignedOut && (
        <p className="border-b border-line bg-warn-soft px-4 py-1.5 text-warn">
          The connection to the box is lost. What you see may be old; it is tried again by itself.
        </p>
      )}
    </div>
  );
}
