import { useEffect, useId, useRef } from 'react';
import { Button } from '../ui/button.tsx';
import { Link } from '../ui/link.tsx';
import { OFF } from './off.ts';
import type { OffReason } from './off.ts';

export interface OffNoteProps {
  reason: OffReason;
  /** What the box says of it. */
  detail?: string | undefined;
  onRetry?: (() => void) | undefined;
  /** It stands where the person was. */
  takesFocus: boolean;
}

/** Why there is no copilot to talk to, and where that is changed. */
export function OffNote({ reason, detail, onRetry, takesFocus }: OffNoteProps) {
  const { title, text, screens = [] } = OFF[reason];
  const heading = useId();
  const ref = useRef<HTMLDivElement>(null);
  // It is read out, and the keys of the drawer go on.
  useEffect(() => {
    if (takesFocus) ref.current?.focus();
  }, []);
  return (
    <div
      ref={ref}
      tabIndex={-1}
      role="note"
      aria-labelledby={heading}
      className="m-4 rounded-lg border border-line bg-page p-4"
      data-off={reason}
    >
      <h3 id={heading} className="font-medium">
        {title}
      </h3>
      <p className="mt-1 text-muted wrap-anywhere">{text}</p>
      {detail !== undefined && (
        <p dir="auto" className="mt-2 text-bad wrap-anywhere">
          {detail}
        </p>
      )}
      {screens.length > 0 && (
        <ul className="mt-2 space-y-1">
          {screens.map((screen) => (
            <li key={screen.title}>
              <Link to={screen.to} {...(screen.search ? { search: screen.search } : {})}>
                {screen.title}
              </Link>
            </li>
          ))}
        </ul>
      )}
      {onRetry && (
        <Button small className="mt-2" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}
