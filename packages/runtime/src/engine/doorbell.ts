/**
 * What a ring says about a run. `due`: it can be taken up, or its execution has something to look at. `ended`: it is
 * final. `written`: its streams have more.
 */
export type RingKind = 'due' | 'ended' | 'written';

/**
 * Notifies other replicas at once what they would find in the journal within a second. It carries ids only: whoever hears
 * a ring looks in the journal, and a ring that is lost costs a sweep.
 */
export interface Doorbell {
  /** Notifies every other replica. Never waits and never fails. */
  ring(kind: RingKind, runId: string): void;
  /** Calls `listener` with what others ring; answers how to stop. A later release may ring kinds unknown here. */
  listen(listener: (kind: RingKind, runId: string) => void): () => void;
}

/** For a process that is alone, or whose replicas find out by looking. */
export const SILENT: Doorbell = { ring() {}, listen: () => () => {} };
