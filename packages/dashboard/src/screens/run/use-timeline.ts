import { useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useCall } from '../../api/queries.ts';
import { useBox } from '../../app/box.ts';
import type { Span } from './timeline.ts';

/** The spans of a run, with the calls of those child runs that are opened, as far as they have been read. */
export function useTimeline(runId: string, opened: ReadonlySet<string>) {
  const { client } = useBox();
  const own = useCall('runs.timeline', { id: runId });
  const below = useQueries({
    queries: [...opened].map((id) => ({
      queryKey: ['runs.timeline', { id }],
      queryFn: ({ signal }: { signal: AbortSignal }) => client.call('runs.timeline', { id }, { signal }),
    })),
    combine: (answers) => ({
      spans: answers.map(({ data }) => data?.items),
      error: answers.find(({ error }) => error)?.error,
    }),
  });
  const spans = useMemo(() => join(own.data?.items, below.spans), [own.data, below.spans]);
  return { ...own, data: spans, error: own.error ?? below.error };
}

// --- internal ---

/** The first of each is the run itself, which the timeline above has as a row of its own. */
function join(own: Span[] | undefined, below: readonly (Span[] | undefined)[]): Span[] | undefined {
  return own && below.reduce<Span[]>((all, spans) => (spans ? all.concat(spans.slice(1)) : all), own);
}
