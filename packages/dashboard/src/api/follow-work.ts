import { useEffect } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { refreshRooms } from './refresh.ts';

/** Reads what a room answers again for as long as it is busy with something which no event of the box announces. */
export function useFollowWork(room: string, isBusy: boolean): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (!isBusy) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void refreshRooms(queries, [room]);
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [room, isBusy, queries]);
}

// --- internal ---

const EVERY_MS = 2_000;
