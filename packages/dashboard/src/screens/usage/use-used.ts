import { useQuery } from '@tanstack/react-query';
import type { Client, OperationOutput } from '@svc/runtime/client';
import { useBox } from '../../app/box.ts';
import type { Month } from './month.ts';

export type Used = OperationOutput<'usage.list'>['items'][number];
export type UsedBy = Used['kind'];

export interface Asked {
  kind: UsedBy;
  /** Default: all of the kind. */
  id?: string | undefined;
  month: Month;
  /** Sums of the month, or one of each of its days. */
  period: 'day' | 'month';
}

export interface AllUsed {
  items: Used[];
  /** There is more of it than is read here. */
  isCut: boolean;
}

/** What was used in a month. The newest come first, so it is read from today back to the beginning of the month. */
export function useUsed({ kind, id, month, period }: Asked) {
  const { client } = useBox();
  return useQuery({
    // Another shape than that of the list itself.
    queryKey: ['usage.list', { kind, id, month, period }, 'month'],
    queryFn: ({ signal }) => readUsed(client, { kind, id, month, period }, signal),
  });
}

// --- internal ---

const PAGE = 200;
const MOST_PAGES = 20;

async function readUsed(client: Client, { month, ...asked }: Asked, signal: AbortSignal): Promise<AllUsed> {
  const { id, kind, period } = asked;
  const items: Used[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const answer: OperationOutput<'usage.list'> = await client.call(
      'usage.list',
      { kind, period, limit: PAGE, ...(id === undefined ? {} : { id }), ...(cursor === undefined ? {} : { cursor }) },
      { signal },
    );
    items.push(...answer.items.filter((item) => item.period.startsWith(month)));
    const last = answer.items.at(-1);
    if (answer.nextCursor === null || !last || last.period.slice(0, 7) < month) return { items, isCut: false };
    cursor = answer.nextCursor;
  }
  return { items, isCut: true };
}
