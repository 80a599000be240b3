import type { OperationInput, StreamEvent } from '@svc/runtime/client';
import { pause } from '../../api/pause.ts';

export type LogLine = Extract<StreamEvent<'logs.tail'>, { event: 'log' }>['data'];

export interface Lines {
  lines: readonly LogLine[];
  isLoading: boolean;
  error: unknown;
  /** What the error ended is tried again without being asked for. */
  isRetrying: boolean;
  /** Some were dropped, as there are more than are held. */
  isCut: boolean;
  /** Between two of them some are missing: the box could not go on where the page had stopped. */
  hasGap: boolean;
  /** There are older ones, which `more` loads. */
  hasOlder: boolean;
}

export interface LogPage {
  /** The newest first. */
  items: readonly LogLine[];
  nextCursor: string | null;
}

export interface LinesSource {
  /** The newest that are stored, or those behind a cursor. Undefined: the stream brings all there are. */
  page?(cursor: string | undefined, signal: AbortSignal): Promise<LogPage>;
  open(lastEventId: string | undefined, signal: AbortSignal): AsyncIterable<StreamEvent<'logs.tail'>>;
  /** Its end is the end. */
  isEnding?: boolean;
}

/** Records as they are stored, which stop and go on without losing any. */
export interface FollowedLines {
  /** Goes on behind the last one that is held. Answers what stops it. */
  follow(): () => void;
  /** Reads the newest, where nothing was read yet, and follows nothing. Answers what stops it. */
  look(): () => void;
  more(): Promise<void>;
}

export interface FollowTimes {
  /** Milliseconds before the next try; twice as long after each that fails. */
  again: number;
  /** The longest of these. A box that says how long to wait is waited for. */
  longest: number;
  /** How long records are gathered before they are shown. */
  gather: number;
  /** How many are held. */
  most: number;
}

export function followLines(source: LinesSource, show: (lines: Lines) => void, times = TIMES): FollowedLines {
  let held: LogLine[] = [];
  let isCut = false;
  let hasGap = false;
  let cursor: string | null = null;
  let lastEventId: string | undefined;
  let isAsking = false;

  const report = (error?: unknown, isRetrying = false): void =>
    show({ lines: [...held], isLoading: false, error, isRetrying, isCut, hasGap, hasOlder: cursor !== null && !isCut });
  const add = (line: LogLine): void => {
    // The first page and the stream may both have it.
    if (held.length > 0 && line.id <= (held.at(-1) as LogLine).id) return;
    held.push(line);
    if (held.length <= times.most * 1.1) return;
    held = held.slice(-times.most);
    isCut = true;
  };
  const load = async (signal: AbortSignal): Promise<void> => {
    // Of an empty log there is nothing to go on behind: it is looked at again.
    if (lastEventId !== undefined || !source.page) return;
    const { items, nextCursor } = await source.page(undefined, signal);
    held = items.toReversed();
    cursor = nextCursor;
    lastEventId = held.at(-1)?.id.toString();
  };
  const follow = async (signal: AbortSignal): Promise<void> => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let wait = times.again;
    const showNow = (error?: unknown, isRetrying?: boolean): void => {
      clearTimeout(timer);
      timer = undefined;
      if (!signal.aborted) report(error, isRetrying);
    };
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
    while (!signal.aborted) {
      try {
        await load(signal);
        showNow();
        for await (const frame of source.open(lastEventId, signal)) {
          lastEventId = frame.id ?? lastEventId;
          wait = times.again;
          if (frame.event === 'reset') hasGap = held.length > 0;
          else if (frame.event === 'log') add(frame.data);
          // Many that come at once are drawn once.
          timer ??= setTimeout(showNow, times.gather);
        }
        if (source.isEnding) return showNow();
      } catch (error) {
        if (signal.aborted) return;
        const asked = askedWaitOf(error);
        showNow(error, asked !== undefined);
        if (asked === undefined) return;
        await pause(Math.max(wait, asked), signal);
        wait = Math.min(times.longest, wait * 2);
        continue;
      }
      await pause(times.again, signal);
    }
  };
  return {
    follow() {
      const ending = new AbortController();
      void follow(ending.signal);
      return () => ending.abort();
    },
    look() {
      const ending = new AbortController();
      void load(ending.signal).then(
        () => ending.signal.aborted || report(),
        (error: unknown) => ending.signal.aborted || report(error),
      );
      return () => ending.abort();
    },
    async more() {
      if (cursor === null || isAsking || !source.page) return;
      isAsking = true;
      try {
        const { items, nextCursor } = await source.page(cursor, new AbortController().signal);
        held = [...items.toReversed(), ...held];
        cursor = held.length < times.most ? nextCursor : null;
        report();
      } catch (error) {
        report(error);
      } finally {
        isAsking = false;
      }
    },
  };
}

export type LogFilter = Omit<OperationInput<'logs.search'>, 'limit' | 'cursor'>;

// --- internal ---

const TIMES: FollowTimes = { again: 2_000, longest: 30_000, gather: 100, most: 100_000 };

/** Milliseconds that a refusal asks to wait, 0 where it asks for none. Undefined: it is refused again, however long one waits. */
function askedWaitOf(error: unknown): number | undefined {
  const { code, status, details } = (error ?? {}) as {
    code?: unknown;
    status?: number;
    details?: { retryAfter?: unknown };
  };
  // What is lost heals.
  if (code === undefined) return 0;
  if (status === undefined || (status !== 429 && status < 500)) return undefined;
  const seconds = Number(details?.retryAfter ?? 0);
  return Number.isFinite(seconds) ? Math.min(seconds, 3_600) * 1_000 : 0;
}
