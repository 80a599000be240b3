import { useEffect } from 'react';
import { useQueryClient } from '@tanstack/react-query';

/** Reads collections and documents again for as long as something is embedded, which no event of the box tells. */
export function useFollowIndex(isBusy: boolean): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (!isBusy) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible')
        void queries.invalidateQueries({ predicate: ({ queryKey: [id] }) => String(id).startsWith('rag.') });
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [isBusy, queries]);
}

// --- internal ---

const EVERY_MS = 2_000;
