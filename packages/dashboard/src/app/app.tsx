import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { Box } from './box.ts';
import type { Bootstrap } from './bootstrap.ts';
import { openBox } from '../api/open-box.ts';
import { followEvents } from '../api/follow.ts';
import { createQueries } from '../api/refresh.ts';
import { NoBox } from './no-box.tsx';
import { makeRouter } from './router.tsx';

/** The screens of the box, or what is in its way. */
export function App({ bootstrap }: { bootstrap: Bootstrap }) {
  return bootstrap.problem ? <NoBox bootstrap={bootstrap} /> : <Screens bootstrap={bootstrap} />;
}

// --- internal ---

function Screens({ bootstrap }: { bootstrap: Bootstrap }) {
  const parts = useMemo(() => {
    const queries = createQueries({ staleTime: 5_000, retry: false, refetchOnWindowFocus: false });
    return { box: openBox(bootstrap), queries, router: makeRouter(bootstrap) };
  }, [bootstrap]);
  useEffect(() => followEvents(parts.box.events, parts.queries), [parts]);
  useEffect(() => {
    const { session } = parts.box;
    // What was refused meanwhile is asked again.
    return session.on(() => void (session.isOver() || parts.queries.invalidateQueries()));
  }, [parts]);
  return (
    <Box value={parts.box}>
      <QueryClientProvider client={parts.queries}>
        <RouterProvider router={parts.router} />
      </QueryClientProvider>
    </Box>
  );
}
