import { useQueries, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { useBox } from '../../app/box.ts';
import { mergeSpans } from './merge-spans.ts';
import type { Span } from './timeline.ts';

type Timeline = OperationOutput<'runs.timeline'>;

/**
 * The spans of a run, with the calls of those child runs that are opened, as far as they have been read. Of a run that goes on
 * what has changed alone is read.
 */
export function useTimeline(runId: string, opened: ReadonlySet<string>) {
  const { client } = useBox();
  const queries = useQueryClient();
  const ids = [runId, ...[...opened].filter((id) => id !== runId)];
  const read = async (id: string, queryKey: readonly unknown[], signal: AbortSignal): Promise<Timeline> => {
    const known = queries.getQueryData<Timeline>(queryKey);
    // An older box does not say where it was.
    const after = known?.seq as number | undefined;
    const answer = await client.call('runs.timeline', after === undefined ? { id } : { id, after }, { signal });
    return known && !answer.isWhole ? { ...answer, items: mergeSpans(known.items, answer.items) } : answer;
  };
  const { spans, error, refused } = useQueries({
    queries: ids.map((id) => {
      const queryKey = ['runs.timeline', { id }] as const;
      return { queryKey, queryFn: ({ signal }: { signal: AbortSignal }) => read(id, queryKey, signal) };
    }),
    combine: (answers) => ({
      spans: answers.map(({ data }) => data?.items),
      error: answers.find((answer) => answer.error)?.error,
      refused: answers.filter((answer) => answer.error),
    }),
  });
  const data = useMemo(() => join(spans), [spans]);
  return { data, error, refetch: () => refused.forEach((answer) => void answer.refetch()) };
}

// --- internal ---

/** The first of each is the run itself, which the timeline above has as a row of its own. */
function join([own, ...below]: readonly (Span[] | undefined)[]): Span[] | undefined {
  return own && below.reduce<Span[]>((all, spans) => (spans ? all.concat(spans.slice(1)) : all), own);
}
