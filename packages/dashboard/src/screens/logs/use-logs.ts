import { useEffect, useRef, useState } from 'react';
import type { OperationInput, StreamEvent } from '@svc/runtime/client';
import { useBox } from '../../app/box.ts';

export type LogLine = Extract<StreamEvent<'logs.tail'>, { event: 'log' }>['data'];

export interface Lines {
  lines: readonly LogLine[];
  isLoading: boolean;
  error: unknown;
  /** Some were dropped, as there are more than are held. */
  isCut: boolean;
}

/** What is held of a log that goes on. */
const MOST = 100_000;
const FIRST_PAGE = 200;
const AGAIN_MS = 2_000;

type Filter = Omit<OperationInput<'logs.search'>, 'limit' | 'cursor'>;
type Open = (lastEventId: string | undefined, signal: AbortSignal) => AsyncIterable<StreamEvent<'logs.tail'>>;

/** The newest records a filter lets through, and from then on each as it is stored. `null`: nothing is asked. */
export function useLogs(filter: Filter, isPaused: boolean): Lines {
  const { client } = useBox();
  const key = JSON.stringify(filter);
  return useLines(key, isPaused, {
    first: async (signal) => {
      const { items } = await client.call('logs.search', { ...filter, limit: FIRST_PAGE }, { signal });
      return items.toReversed();
    },
    open: (lastEventId, signal) =>
      client.stream('logs.tail', { ...filter, ...(lastEventId === undefined ? {} : { lastEventId }) }, { signal }),
  });
}

/** All records of a run, until it is over. */
export function useRunLogs(id: string): Lines {
  const { client } = useBox();
  return useLines(id, false, {
    first: async () => [],
    open: (lastEventId, signal) =>
      client.stream('runs.logs_stream', { id, ...(lastEventId === undefined ? {} : { lastEventId }) }, { signal }),
    isEnding: true,
  });
}

// --- internal ---

interface Source {
  first(signal: AbortSignal): Promise<readonly LogLine[]>;
  open: Open;
  /** Its end is the end. */
  isEnding?: boolean;
}

const NONE: Lines = { lines: [], isLoading: true, error: undefined, isCut: false };

function useLines(key: string, isPaused: boolean, source: Source): Lines {
  const [shown, setShown] = useState(NONE);
  const current = useRef(source);
  current.current = source;
  useEffect(() => setShown(NONE), [key]);
  useEffect(() => {
    if (isPaused) return undefined;
    const ending = new AbortController();
    const { signal } = ending;
    let held: LogLine[] = [];
    let isCut = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    // Many that come at once are drawn once.
    const show = (error?: unknown) => {
      clearTimeout(timer);
      timer = undefined;
      if (!signal.aborted) setShown({ lines: [...held], isLoading: false, error, isCut });
    };
    const add = (line: LogLine) => {
      // The first page and the stream may both have it.
      if (held.length > 0 && line.id <= (held.at(-1) as LogLine).id) return;
      held.push(line);
      if (held.length > MOST * 1.1) {
        held = held.slice(-MOST);
        isCut = true;
      }
      timer ??= setTimeout(show, 100);
    };
    const read = async () => {
      let last: string | undefined;
      for (let isFirst = true; !signal.aborted; isFirst = false) {
        try {
          if (isFirst) for (const line of await current.current.first(signal)) add(line);
          show();
          for await (const frame of current.current.open(last, signal)) {
            last = frame.id ?? last;
            if (frame.event === 'log') add(frame.data);
          }
          if (current.current.isEnding) return show();
        } catch (error) {
          if (signal.aborted) return undefined;
          show(error);
          // What is refused is refused again; what is lost heals.
          if (error instanceof Error && 'code' in error) return undefined;
        }
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
      return undefined;
    };
    void read();
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [key, isPaused]);
  return shown;
}
