import { Failure, useSignedOut } from './failure.tsx';

export interface RefusedProps {
  /** As `useCall` and `useList` answer it. */
  of: { error: unknown; refetch(): unknown };
  /** What is missing for it: “Its history”. */
  what: string;
}

/**
 * Says why what is beside something else could not be read: else it would look as if there were none. Not that the session is
 * over, which the page and what it is about say.
 */
export function Refused({ of: { error, refetch }, what }: RefusedProps) {
  const isSignedOut = useSignedOut(error);
  if (!error || isSignedOut) return null;
  return (
    <div className="min-w-0">
      <p className="text-muted">{what} could not be read.</p>
      <Failure error={error} onRetry={() => void refetch()} />
    </div>
  );
}
