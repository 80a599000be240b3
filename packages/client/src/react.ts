'use client';

import { createContext, createElement, useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { useSyncExternalStore } from 'react';
import type { ReactElement, ReactNode } from 'react';
import type { ClientRunError } from './errors.ts';
import type { Client, ClientRun, JsonOutput, KnownWorkflow, OperationOutput, StartOptions } from './index.ts';
import type { WorkflowInput, WorkflowOutput, WorkflowState } from './index.ts';
import { isPassing } from './again.ts';
import { liveOf, NO_FRAMES, NO_RUN } from './live.ts';
import type { FramesView, LiveStep, RunView } from './live.ts';
import type { StreamState } from './healing.ts';
import type { Shared } from './shared.ts';

export type { LiveStep } from './live.ts';
export type { StreamState } from './healing.ts';

/** The client of all hooks below it. */
export function ClientProvider({ client, children }: { client: Client; children?: ReactNode }): ReactElement {
  return createElement(ClientContext.Provider, { value: client }, children);
}

/** The client of the `ClientProvider` around it. Throws where there is none. */
export function useClient(): Client {
  const client = useContext(ClientContext);
  if (!client) throw new TypeError('There is no client: put <ClientProvider client={createClient({ … })}> around it.');
  return client;
}

/** A run as it goes. */
export interface LiveRun<O = unknown, S = unknown> {
  /** Undefined: none is shown. */
  runId: string | undefined;
  /** All the box says of it; undefined: it was not read yet. Of a run that has continued as another, the last one. */
  run: OperationOutput<'runs.get'> | undefined;
  status: OperationOutput<'runs.get'>['status'] | undefined;
  /** What it answered, once it has completed. */
  output: O | undefined;
  /** What it has published last. */
  state: S | undefined;
  /** Those recorded since it is shown, oldest first; the newest 1,000. */
  steps: readonly LiveStep[];
  /** `ClientRunError`: it failed or was cancelled. `ClientError`: it cannot be read. */
  error: ClientRunError | Error | undefined;
  /** It has ended, or is not there for this caller: nothing more comes. */
  isOver: boolean;
  /** Of the stream that all hooks share. `lost`: for some seconds nothing has come through; it is tried again. */
  connection: StreamState;
  /** Cancels it. Rejects with `ClientError` where the box refuses that. */
  cancel(): Promise<void>;
}

/** By the name of a workflow, as `useRun<'greet'>(id)`. */
export type RunOfWorkflow<N extends string> = LiveRun<JsonOutput<WorkflowOutput<N>>, JsonOutput<WorkflowState<N>>>;

/** A run as it goes, until it is over or nothing shows it any more. @param runId undefined: none yet */
export function useRun<N extends string = never>(runId: string | undefined): RunOfWorkflow<N> {
  const client = useClient();
  // One that is shown stays the same, however many others are.
  const shared = useMemo(() => (runId === undefined ? undefined : liveOf(client).run(runId)), [client, runId]);
  const view = useShared(shared, NO_RUN);
  const cancel = useCallback(async () => {
    if (runId !== undefined) await client.call('runs.cancel', { id: runId });
  }, [client, runId]);
  return useMemo(() => toLiveRun(runId, view, cancel), [runId, view, cancel]) as RunOfWorkflow<N>;
}

/** A workflow that is started from a page. */
export interface LiveWorkflow<I, O, S> {
  /** Starts a run, which `run` shows from then on. Never rejects: what the box refuses is `error`. */
  start(
    ...args: undefined extends I ? [input?: I, options?: StartOptions] : [input: I, options?: StartOptions]
  ): Promise<ClientRun<O> | undefined>;
  /** It is being started, or waits in a queue. */
  isStarting: boolean;
  /** The run that was started last. */
  run: LiveRun<O, S>;
  /** Why it could not be started, and otherwise that of the run. */
  error: ClientRunError | Error | undefined;
  /** Shows no run. One that is under way goes on. */
  reset(): void;
}

export function useWorkflow<N extends KnownWorkflow>(
  name: N,
): LiveWorkflow<WorkflowInput<N>, JsonOutput<WorkflowOutput<N>>, JsonOutput<WorkflowState<N>>> {
  const client = useClient();
  const [started, setStarted] = useState<Started>(NOTHING);
  const attempt = useRef<AbortController>(undefined);
  const run = useRun<N>(started.runId);
  const reset = useCallback(() => {
    attempt.current?.abort();
    setStarted(NOTHING);
  }, []);
  // What is started by then is of another workflow, or no page shows it.
  useEffect(() => reset, [client, name, reset]);
  const start = useCallback(
    async (...args: [input?: unknown, options?: StartOptions]) => {
      attempt.current?.abort();
      const { signal } = (attempt.current = new AbortController());
      const show = (next: Started): void => void (signal.aborted || setStarted(next));
      setStarted({ ...NOTHING, isStarting: true });
      const { connection } = liveOf(client);
      // Before the run, so that its first steps are seen.
      const leave = connection.listen({ onEvent() {}, onOpened() {}, onState() {} });
      try {
        await connection.opened();
        const begun = (await client.workflow(name).start(...(args as [never]))) as ClientRun<never>;
        show({ runId: begun.runId, isStarting: begun.runId === undefined, error: undefined });
        if (begun.runId === undefined)
          void untilPromoted(client, name, begun, signal).then(
            (runId) => show({ runId, isStarting: false, error: undefined }),
            (error: Error) => show({ ...NOTHING, error }),
          );
        return begun;
      } catch (error) {
        show({ ...NOTHING, error: error as Error });
        return undefined;
      } finally {
        leave();
      }
    },
    [client, name],
  );
  const { isStarting, error = run.error } = started;
  return useMemo(() => ({ start, isStarting, run, error, reset }), [start, isStarting, run, error, reset]) as never;
}

export interface RunStreamOptions {
  /** How many frames are kept, the newest. Default: 1,000. */
  limit?: number;
}

/** What a run writes to one of its streams. */
export interface LiveFrames<T> {
  frames: readonly T[];
  /** The stream is closed, or the run over. */
  isOver: boolean;
  error: Error | undefined;
  connection: StreamState;
}

/** What a run writes to a stream, as it comes. @param name of the stream. Default: `default` */
export function useRunStream<T = unknown>(
  runId: string | undefined,
  name = 'default',
  { limit = 1_000 }: RunStreamOptions = {},
): LiveFrames<T> {
  const client = useClient();
  const shared = useMemo(
    () => (runId === undefined ? undefined : liveOf(client).frames(runId, name, limit)),
    [client, runId, name, limit],
  );
  return useShared<FramesView>(shared, NO_FRAMES) as LiveFrames<T>;
}

// --- internal ---

const ClientContext = createContext<Client | undefined>(undefined);

interface Started {
  runId: string | undefined;
  isStarting: boolean;
  error: Error | undefined;
}

const NOTHING: Started = { runId: undefined, isStarting: false, error: undefined };

function useShared<T>(shared: Shared<T> | undefined, none: T): T {
  const subscribe = useCallback((listener: () => void) => shared?.subscribe(listener) ?? (() => {}), [shared]);
  const get = (): T => shared?.get() ?? none;
  return useSyncExternalStore(subscribe, get, () => none);
}

function toLiveRun(runId: string | undefined, view: RunView, cancel: () => Promise<void>): LiveRun {
  const { run, ...rest } = view;
  const output = run?.status === 'completed' ? run.output : undefined;
  return { ...rest, run, runId, status: run?.status, output, cancel };
}

/**
 * The id of the run that a queued start becomes: looked for when a run of the workflow begins, and after a loss. Undefined:
 * the signal has aborted.
 */
function untilPromoted(
  client: Client,
  name: string,
  begun: ClientRun<never>,
  signal: AbortSignal,
): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const finish = (): void => {
      leave();
      signal.removeEventListener('abort', finish);
      resolve(signal.aborted ? undefined : begun.runId);
    };
    const look = async (): Promise<void> => {
      try {
        if (await begun.get({ signal })) finish();
      } catch (error) {
        // Looked at again once there is a connection.
        if (signal.aborted || isPassing(error, signal)) return;
        reject(error as Error);
        finish();
      }
    };
    const leave = liveOf(client).connection.listen({
      onEvent: ({ event, data }) => void (OF_QUEUE.has(event) && 'name' in data && data.name === name && look()),
      onOpened: () => void look(),
      onState() {},
    });
    signal.addEventListener('abort', finish, { once: true });
    if (signal.aborted) finish();
    else void look();
  });
}

const OF_QUEUE: ReadonlySet<string> = new Set(['run.created', 'run.started', 'run.ended']);
