import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { OperationId, OperationInput, OperationOutput } from '@svc/runtime/client';
import { useBox } from '../app/box.ts';

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
    enabled: how.enabled ?? true,
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
    enabled: how.enabled ?? true,
    ...(how.keep ? { placeholderData: (before: unknown) => before as never } : {}),
  });
  const items = query.data?.pages.flatMap((page) => (page as { items: ItemOf<OperationOutput<Id>>[] }).items);
  return { ...query, items };
}

/** A write. Afterwards whatever the rooms answer is read again; default: the room of the operation. */
export function useChange<Id extends OperationId>(id: Id, rooms: readonly string[] = [roomOf(id)]) {
  return useWrite(id, rooms, 'active');
}

/** A write after which its page is left: what the room answers is old, and read again by the page that shows it next. */
export function useLeave<Id extends OperationId>(id: Id) {
  return useWrite(id, [roomOf(id)], 'none');
}

// --- internal ---

function useWrite<Id extends OperationId>(id: Id, rooms: readonly string[], refetchType: 'active' | 'none') {
  const { client } = useBox();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (input: OperationInput<Id>) => client.call(id, ...([input] as never)),
    onSettled: () =>
      queries.invalidateQueries({
        refetchType,
        predicate: ({ queryKey: [of] }) => rooms.includes(roomOf(String(of))),
      }),
  });
}

function roomOf(id: string): string {
  return id.split('.')[0] ?? '';
}

function call<Id extends OperationId>(
  client: ReturnType<typeof useBox>['client'],
  id: Id,
  input: OperationInput<Id>,
  signal: AbortSignal,
): Promise<OperationOutput<Id>> {
  return client.call(id, ...([input, { signal }] as never));
}
