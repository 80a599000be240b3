import { useSyncExternalStore } from 'react';
import { signInAddress } from '../api/session.ts';
import { useBox } from './box.ts';

/** Says that the session of the person is over, for as long as it is, and where it begins again. */
export function SessionNote() {
  const { session } = useBox();
  const isOver = useSyncExternalStore(session.on, session.isOver);
  return (
    <div role="status">
      {isOver && (
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-warn-soft px-4 py-1.5 text-warn">
          <span>You are not signed in any more. What you see may be old, and nothing is saved.</span>
          <a href={signInAddress()} className="underline">
            Sign in
          </a>
          <span>Once you have in another tab, this page goes on.</span>
        </p>
      )}
    </div>
  );
}
