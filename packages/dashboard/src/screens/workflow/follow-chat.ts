import { newId } from '../../api/new-id.ts';
import { readFrames } from '../../chat/sse.ts';
import type { SseFrame } from '../../chat/sse.ts';

/** A run of a chat workflow, as far as its stream has reported it. */
export interface ChatRun {
  /** Undefined: it has not begun. */
  runId: string | undefined;
  /** What its steps wrote: texts that follow each other are one. */
  parts: readonly ChatPart[];
  /** Undefined: it goes on. */
  end: ChatEnd | undefined;
  /** The stream broke off, and is opened again. */
  isLost: boolean;
  /** The beginning was dropped, as there is more than is held. */
  isCut: boolean;
  error: unknown;
}

export interface ChatPart {
  /** The number of its first frame. */
  n: number;
  /** Undefined: `value` is no text. */
  text: string | undefined;
  value: unknown;
}

export interface ChatEnd {
  status: string;
  output: unknown;
  error: { code: string; message: string } | null;
}

/** Opens the stream: with an input it starts a run, with an event id it goes on behind that. Throws what is refused. */
export type OpenChat = (
  ask: { input: unknown; key: string } | { lastEventId: string },
  signal: AbortSignal,
) => Promise<Response>;

export const NO_RUN: ChatRun = {
  runId: undefined,
  parts: [],
  end: undefined,
  isLost: false,
  isCut: false,
  error: undefined,
};

export interface FollowedChat {
  /** Starts a run and follows it, in the place of the one before. */
  begin(input: unknown): void;
  /** Follows a run from its beginning, unless it is that one already. */
  resume(runId: string): void;
  stop(): void;
}

/** Follows one run after the other; `show` is called with what there is of it. */
export function followChat(open: OpenChat, show: (run: ChatRun) => void, times = TIMES): FollowedChat {
  let following = new AbortController();
  let run = NO_RUN;

  const follow = async (first: Parameters<OpenChat>[0], signal: AbortSignal): Promise<void> => {
    let ask = first;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const set = (change: Partial<ChatRun>): void => {
      run = { ...run, ...change };
      // Many that come at once are drawn once.
      timer ??= setTimeout(() => {
        timer = undefined;
        if (!signal.aborted) show(run);
      }, times.gather);
    };
    for (let failures = 0; !signal.aborted;) {
      try {
        const { body } = await open(ask, signal);
        if (body)
          for await (const frame of readFrames(body)) {
            failures = 0;
            set({ ...applyFrame(run, frame, times.most), isLost: false });
            if (frame.id !== undefined) ask = { lastEventId: frame.id };
            if (run.end) return;
          }
      } catch (error) {
        if (signal.aborted) return;
        // What is refused is refused again; what is lost heals.
        if (!(error instanceof TypeError) || ++failures > MOST_FAILURES) return set({ error, isLost: false });
      }
      set({ isLost: true });
      await new Promise((resolve) => setTimeout(resolve, times.again));
    }
  };
  const start = (ask: Parameters<OpenChat>[0], known: ChatRun): void => {
    following.abort();
    following = new AbortController();
    run = known;
    show(run);
    void follow(ask, following.signal);
  };
  return {
    begin: (input) => start({ input, key: newId() }, NO_RUN),
    resume(runId) {
      if (run.runId !== runId) start({ lastEventId: `${runId}:0` }, { ...NO_RUN, runId });
    },
    stop: () => following.abort(),
  };
}

// --- internal ---

const TIMES = { again: 1_000, gather: 50, most: 2_000 };
/** In a row, without anything new. */
const MOST_FAILURES = 30;

function applyFrame(run: ChatRun, { id, event, data }: SseFrame, most: number): Partial<ChatRun> {
  const parsed = JSON.parse(data) as unknown;
  if (event === 'run') return { runId: (parsed as { runId: string }).runId };
  if (event === 'reset') return { parts: [], isCut: false };
  if (event === 'end') return { end: parsed as ChatEnd };
  const n = Number(id?.split(':').at(-1) ?? 0);
  const last = run.parts.at(-1);
  const text = typeof parsed === 'string' ? parsed : undefined;
  if (last?.text !== undefined && text !== undefined && last.text.length < MOST_TEXT)
    return { parts: [...run.parts.slice(0, -1), { ...last, text: last.text + text }] };
  const parts = [...run.parts, { n, text, value: parsed }];
  return parts.length <= most ? { parts } : { parts: parts.slice(-most), isCut: true };
}

/** Characters of one part. */
const MOST_TEXT = 20_000;
