import { useRouter } from '@tanstack/react-router';
import { useRef } from 'react';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { OperationId, OperationInput, OperationOutput } from '@svc/runtime/client';
import { useBox } from '../app/box.ts';
import { holdReads, refreshRooms, roomOf } from './refresh.ts';

export interface CallHow {
  /** False: not yet. */
  enabled?: boolean;
  /** What was shown for other input stays until the answer is there. */
  keep?: boolean;
}

/** What an operation answers, kept by its id and its input, and read again when an event says that it has changed. */
export function useCall<Id extends OperationId>(id: Id, input: OperationInput<Id>, how: CallHow = {}) {
  const { client } = useBox();
  return useQuery({
    queryKey: [id, input],
    queryFn: ({ signal }) => call(client, id, input, signal),
    ...(how.enabled === false ? { enabled: false } : {}),
    ...(how.keep ? { placeholderData: (before: OperationOutput<Id> | undefined) => before as never } : {}),
  });
}

type ItemOf<Output> = Output extends { items: (infer Item)[] } ? Item : never;

/** A list with a cursor: the pages so far as one list, and more of it when asked. */
export function useList<Id extends OperationId>(id: Id, input: OperationInput<Id>, how: CallHow = {}) {
  const { client } = useBox();
  const query = useInfiniteQuery({
    // Not the key of `useCall`: what is kept under it has another shape.
    queryKey: [id, input, 'list'],
    queryFn: ({ signal, pageParam }) =>
      call(
        client,
        id,
        (pageParam === undefined ? input : { ...(input as object), cursor: pageParam }) as never,
        signal,
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page as { nextCursor?: string | null }).nextCursor ?? undefined,
    ...(how.enabled === false ? { enabled: false } : {}),
    ...(how.keep ? { placeholderData: (before: unknown) => before as never } : {}),
  });
  const items = query.data?.pages.flatMap((page) => (page as { items: ItemOf<OperationOutput<Id>>[] }).items);
  return { ...query, items };
}

/** A write. Afterwards whatever the rooms answer is read again; default: the room of the operation. */
export function useChange<Id extends OperationId>(id: Id, rooms: readonly string[] = [roomOf([id])]) {
  return useWrite(id, rooms);
}

/**
 * The delete of what a screen is about, which is left then: from its begin on nothing of the rooms is read again there, unless it
 * fails. What they have answered is old, and read by the screen that shows it next.
 */
export function useLeave<Id extends OperationId>(id: Id, rooms: readonly string[] = [roomOf([id])]) {
  const queries = useQueryClient();
  const router = useRouter();
  const release = useRef<() => void>(undefined);
  return useWrite(id, rooms, {
    onMutate() {
      release.current?.();
      const here = router.state.location.pathname;
      const releaseReads = holdReads(queries, rooms);
      // The dialog that asked is closed before: it is taken back out of the history.
      const stop = router.subscribe('onRendered', ({ toLocation }) => {
        if (toLocation.pathname !== here) release.current?.();
      });
      release.current = () => {
        stop();
        releaseReads();
      };
    },
    onError: () => release.current?.(),
  });
}

// --- internal ---

function useWrite<Id extends OperationId>(
  id: Id,
  rooms: readonly string[],
  how: { onMutate?: () => void; onError?: () => void } = {},
) {
  const { client } = useBox();
  const queries = useQueryClient();
  return useMutation({
    ...how,
    mutationFn: (input: OperationInput<Id>) => client.call(id, ...([input] as never)),
    onSettled: () => refreshRooms(queries, rooms),
  });
}

function call<Id extends OperationId>(
  client: ReturnType<typeof useBox>['client'],
  id: Id,
  input: OperationInput<Id>,
  signal: AbortSignal,
): Promise<OperationOutput<Id>> {
  return client.call(id, ...([input, { signal }] as never));
}
