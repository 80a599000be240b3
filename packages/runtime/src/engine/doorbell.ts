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
  /** Notifies every other replica; `to` is the owner it is meant for, where one has the run. Never waits and never fails. */
  ring(kind: RingKind, runId: string, to?: string): void;
  /** Calls `listener` with what others ring; answers how to stop. A later release may ring kinds unknown here. */
  listen(listener: RingListener): () => void;
}

export type RingListener = (kind: RingKind, runId: string, to?: string) => void;

/** What one of several rings reaches all of them, and so does what is rung here. */
export function joinDoorbells(given: readonly (Doorbell | undefined)[]): Doorbell {
  const doorbells = given.flatMap((doorbell) => doorbell ?? []);
  const [only = SILENT] = doorbells;
  if (doorbells.length < 2) return only;
  const ringAll = (kind: RingKind, runId: string, to?: string, except?: Doorbell): void => {
    for (const doorbell of doorbells) if (doorbell !== except) doorbell.ring(kind, runId, to);
  };
  return {
    ring: (kind, runId, to) => ringAll(kind, runId, to),
    listen(listener) {
      const stops = doorbells.map((doorbell) =>
        doorbell.listen((kind, runId, to) => {
          listener(kind, runId, to);
          ringAll(kind, runId, to, doorbell);
        }),
      );
      return () => stops.forEach((stop) => stop());
    },
  };
}

/** For a process that is alone, or whose replicas find out by looking. */
export const SILENT: Doorbell = { ring() {}, listen: () => () => {} };
