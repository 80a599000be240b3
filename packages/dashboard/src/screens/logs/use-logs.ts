import { useEffect, useMemo, useState } from 'react';
import { useBox } from '../../app/box.ts';
import { followLines } from './follow-lines.ts';
import type { Lines, LinesSource, LogFilter } from './follow-lines.ts';

export interface ShownLines extends Lines {
  /** Reads the next page of older ones. */
  onOlder(): Promise<void>;
  /** Goes on at once behind the last record that is held. */
  onRetry(): void;
}

/** The newest records a filter lets through, older ones when asked, and from then on each as it is stored. */
export function useLogs(filter: LogFilter, isPaused: boolean): ShownLines {
  const { client } = useBox();
  return useLines(JSON.stringify(filter), isPaused, {
    page: (cursor, signal) =>
      client.call('logs.search', { ...filter, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) }, { signal }),
    open: (lastEventId, signal) =>
      client.stream('logs.tail', { ...filter, ...(lastEventId === undefined ? {} : { lastEventId }) }, { signal }),
  });
}

/** All records of a run, until it is over. */
export function useRunLogs(id: string): ShownLines {
  const { client } = useBox();
  return useLines(id, false, {
    open: (lastEventId, signal) =>
      client.stream('runs.logs_stream', { id, ...(lastEventId === undefined ? {} : { lastEventId }) }, { signal }),
    isEnding: true,
  });
}

// --- internal ---

const PAGE = 200;
const NONE: Lines = {
  lines: [],
  isLoading: true,
  error: undefined,
  isRetrying: false,
  isCut: false,
  hasGap: false,
  hasOlder: false,
};

function useLines(key: string, isPaused: boolean, source: LinesSource): ShownLines {
  const [shown, setShown] = useState({ key, lines: NONE });
  // Another filter is another list; a pause is not.
  const followed = useMemo(() => followLines(source, (lines) => setShown({ key, lines })), [key]);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => (isPaused ? followed.look() : followed.follow()), [followed, isPaused, attempt]);
  const onRetry = (): void => {
    setShown(({ key: of, lines }) => ({
      key: of,
      lines: { ...lines, error: undefined, isRetrying: false, isLoading: lines.lines.length === 0 },
    }));
    setAttempt(attempt + 1);
  };
  return { ...(shown.key === key ? shown.lines : NONE), onOlder: followed.more, onRetry };
}
