import { use } from 'react';
import { Box } from '../app/box.ts';
import { describe, Failure } from './failure.tsx';

export interface RefusedProps {
  /** As `useCall` and `useList` answer it. */
  of: { error: unknown; refetch(): unknown };
  /** What is missing for it: “Its history”. */
  what: string;
}

/**
 * Says why what stands beside something else could not be read: else it would look as if there were none. Not that the session is
 * over, which the page and what it is about say.
 */
export function Refused({ of: { error, refetch }, what }: RefusedProps) {
  const isOver = use(Box)?.session.isOver() ?? false;
  if (!error || (isOver && describe(error).code === 'unauthorized')) return null;
  return (
    <div className="min-w-0">
      <p className="text-muted">{what} could not be read.</p>
      <Failure error={error} onRetry={() => void refetch()} />
    </div>
  );
}
