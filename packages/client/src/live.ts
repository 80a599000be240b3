import { createWaits, isPassing, pause } from './again.ts';
import { createConnection } from './connection.ts';
import type { BoxEvent, Connection } from './connection.ts';
import { ClientError, ClientRunError } from './errors.ts';
import { followHealing } from './healing.ts';
import type { StreamState } from './healing.ts';
import { createShared } from './shared.ts';
import type { Shared } from './shared.ts';
import type { Client, OperationOutput } from './index.ts';

type Run = OperationOutput<'runs.get'>;

/** A step, model call, tool or wait of a run. */
export interface LiveStep {
  /** The number of the call in the run. */
  id: string;
  /** Of the function, the tool, the model. */
  name: string;
  kind: 'approval' | 'child' | 'hook' | 'model' | 'sleep' | 'step' | 'tool';
  status: 'completed' | 'failed' | 'retrying';
  attempt: number;
  /** When it was recorded, ISO 8601. */
  at: string;
}

/** A run by now. */
export interface RunView {
  /** Undefined: it was not read yet. Of a run that has continued as another, the last one. */
  run: Run | undefined;
  /** What it has published last; undefined: nothing. */
  state: unknown;
  /** Those recorded since it is watched, oldest first; the newest 1,000. */
  steps: readonly LiveStep[];
  /** `ClientRunError`: it failed or was cancelled. Any other: it cannot be read. */
  error: Error | undefined;
  /** It has ended, or is not there for this caller: nothing more comes. */
  isOver: boolean;
  connection: StreamState;
}

/** What a run has written to one of its streams. */
export interface FramesView {
  frames: readonly unknown[];
  /** The stream is closed, or the run over. */
  isOver: boolean;
  error: Error | undefined;
  connection: StreamState;
}

/** Runs and their streams as they go: what several readers ask for is asked once. */
export interface Live {
  connection: Connection;
  run(runId: string): Shared<RunView>;
  frames(runId: string, name: string, limit: number): Shared<FramesView>;
}

/** The same for everyone who has the client. */
export function liveOf(client: Client): Live {
  const known = LIVES.get(client);
  if (known) return known;
  const connection = createConnection(client);
  const live: Live = {
    connection,
    run: keepBy((runId) => watchRun(client, connection, runId)),
    frames: (runId, name, limit) => frames(JSON.stringify([runId, name, limit])),
  };
  const frames = keepBy((key) => watchFrames(client, ...(JSON.parse(key) as [string, string, number])));
  LIVES.set(client, live);
  return live;
}

export const NO_RUN: RunView = {
  run: undefined,
  state: undefined,
  steps: [],
  error: undefined,
  isOver: false,
  connection: 'opening',
};
export const NO_FRAMES: FramesView = { frames: [], isOver: false, error: undefined, connection: 'opening' };

// --- internal ---

const LIVES = new WeakMap<Client, Live>();
const MOST_STEPS = 1_000;
/** Of views, unless more of them have a reader. */
const MOST_KEPT = 200;
/** Between looks that fail, about: the first, and the most. */
const FIRST_AGAIN_MS = 1_000;
const MOST_AGAIN_MS = 30_000;
const FINAL: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

/** The newest are kept, so that who comes back sees at once what there was, and all that are read. */
function keepBy<T extends Pick<Shared<unknown>, 'isRead'>>(create: (key: string) => T): (key: string) => T {
  const kept = new Map<string, T>();
  return (key) => {
    const value = kept.get(key) ?? create(key);
    kept.delete(key);
    for (const [other, { isRead }] of kept) {
      if (kept.size < MOST_KEPT) break;
      if (!isRead()) kept.delete(other);
    }
    kept.set(key, value);
    return value;
  };
}

function watchRun(client: Client, connection: Connection, first: string): Shared<RunView> {
  const view = createShared<RunView>({
    first: NO_RUN,
    begin(set) {
      const ending = new AbortController();
      const { signal } = ending;
      let id = first;
      let isReading = false;
      let isStale = false;
      const waits = createWaits(FIRST_AGAIN_MS, MOST_AGAIN_MS);
      let stop: (() => void) | undefined;
      const finish = (change: Partial<RunView>): void => {
        set({ ...change, isOver: true });
        stop?.();
        stop = undefined;
      };
      /** One look; the run it has continued as is looked at next. */
      const look = async (): Promise<void> => {
        const [run, { state }] = await Promise.all([
          client.call('runs.get', { id }, { signal }),
          client.call('runs.state', { id }, { signal }),
        ]);
        if (run.continuedTo !== null) {
          id = run.continuedTo;
          isStale = true;
          return;
        }
        const change = { run, state: state ?? undefined, error: toError(run) };
        if (FINAL.has(run.status)) finish(change);
        else set(change);
      };
      /** One look at a time, and one more where something has happened meanwhile. */
      const read = async (): Promise<void> => {
        isStale = true;
        if (isReading) return;
        isReading = true;
        while (isStale && !signal.aborted && !view.get().isOver) {
          isStale = false;
          try {
            await look();
            waits.reset();
          } catch (error) {
            if (signal.aborted) break;
            if (error instanceof ClientError && GONE.has(error.status)) finish({ error });
            else {
              const isAgain = isPassing(error, signal);
              if (!isAgain) set({ error: error as Error });
              // What is refused for now, too: no event says when it is not any more.
              if (!isAgain && !(error instanceof ClientError && LATER.has(error.status))) continue;
              isStale = true;
              await pause(waits.next(), signal).catch(() => {});
            }
          }
        }
        isReading = false;
      };
      if (view.get().isOver) return () => {};
      const take = (event: BoxEvent): boolean => {
        if (!('runId' in event.data) || event.data.runId !== id) return false;
        if (event.event === 'step.completed') set({ steps: addStep(view.get().steps, event.data) });
        return event.event !== 'step.completed';
      };
      connection.recent().forEach(take);
      stop = connection.listen({
        onEvent: (event) => void (take(event) && read()),
        onOpened: () => void read(),
        onState: ({ state, refusal }) => set(refusal ? { connection: state, error: refusal } : { connection: state }),
      });
      set({ connection: connection.state().state });
      void read();
      return () => {
        ending.abort();
        stop?.();
      };
    },
  });
  return view;
}

/** The run is none that this caller may see. */
const GONE: ReadonlySet<number> = new Set([403, 404, 410]);

/** The caller has asked too often, or the box could not answer. */
const LATER: ReadonlySet<number> = new Set([429, 500]);

function addStep(
  steps: readonly LiveStep[],
  { stepId, step, stepKind, status, attempt, at }: Extract<BoxEvent, { event: 'step.completed' }>['data'],
): LiveStep[] {
  const others = steps.filter(({ id }) => id !== stepId).slice(1 - MOST_STEPS);
  return [...others, { id: stepId, name: step, kind: stepKind, status, attempt, at }];
}

function toError({ status, error, runId }: Run): Error | undefined {
  if (status === 'cancelled') return new ClientRunError('run_cancelled', `The run "${runId}" was cancelled.`, runId);
  if (status !== 'failed') return undefined;
  return new ClientRunError(error?.code ?? 'run_failed', error?.message ?? `The run "${runId}" has failed.`, runId);
}

/** The newest alone; at least one. */
function addFrame(frames: readonly unknown[], value: unknown, limit: number): unknown[] {
  return [...frames, value].slice(-Math.max(1, limit));
}

function watchFrames(client: Client, id: string, name: string, limit: number): Shared<FramesView> {
  const view = createShared<FramesView>({
    first: NO_FRAMES,
    begin(set) {
      if (view.get().isOver) return () => {};
      const ending = new AbortController();
      set(NO_FRAMES);
      void followHealing({
        signal: ending.signal,
        open: (lastEventId, heard) =>
          client.stream(
            'runs.stream',
            { id, name, follow: true, ...(lastEventId === undefined ? {} : { lastEventId }) },
            heard,
          ),
        onFrame(frame) {
          if (frame.event === 'frame') set({ frames: addFrame(view.get().frames, frame.data.value, limit) });
          else if (frame.event === 'end') set({ isOver: true });
          return frame.event === 'end';
        },
        onState: (connection) => set(connection === 'open' ? { connection, error: undefined } : { connection }),
        onRefused(error) {
          set({ error, isOver: GONE.has(error.status) });
          if (GONE.has(error.status)) ending.abort();
        },
      });
      return () => ending.abort();
    },
  });
  return view;
}
