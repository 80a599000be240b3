import type { RingKind } from './doorbell.ts';
import type { LifecycleEvent } from './lifecycle.ts';

// A run that may be what kills its process goes on in a process of its own kind: a second one of the same box, over the
// same stores, that takes no run but those it is given. `worker/isolation.ts` is the side that gives,
// `worker/assigned.ts` the side that takes.

/** What the process is sent. */
export type ToIsolated =
  /** Takes the runs from their owner. `isAlone`: no other run is with it, so that a death counts. */
  | { type: 'take'; runIds: string[]; from: string; isAlone: boolean }
  | { type: 'ring'; kind: RingKind; runId: string }
  /** Gives its runs back and ends. */
  | { type: 'close' };

/** What it sends. */
export type FromIsolated =
  /** It can take runs, which it holds in the journal under this name. */
  | { type: 'ready'; owner: string }
  /** Its event loop turns; sent about once a second. */
  | { type: 'alive' }
  /** It does not have the run any more. */
  | { type: 'left'; runId: string }
  | { type: 'ring'; kind: RingKind; runId: string }
  | { type: 'event'; event: LifecycleEvent };

/** A process for suspects, as seen by the one that began it. */
export interface IsolatedProcess {
  send(message: ToIsolated): void;
  /** Is called with all it sends from now on. */
  onMessage(listener: (message: FromIsolated) => void): void;
  /** It is over, however it ended. Nothing comes after it. */
  onExit(listener: () => void): void;
  /** Ends it at once. */
  kill(): void;
}

/** Begins a process for suspects. */
export type Isolate = () => IsolatedProcess;

/** The process that began this one, as seen from here. */
export interface Supervisor {
  send(message: FromIsolated): void;
  onMessage(listener: (message: ToIsolated) => void): void;
}
