import type { RunRow } from './run.ts';

/** What a run was cancelled with, and what it ends as when it has cleaned up. */
export interface Cancel {
  /** By the store's clock. */
  at: number;
  /** What its body gets for what it awaits, and what its row has in the end, as codec text. */
  error: string;
  status: 'cancelled' | 'failed';
}

export interface CancelHow {
  /** The milliseconds a run has to clean up; 0: it ends at once. Default: every run does. */
  graceOf?(run: Pick<RunRow, 'kind' | 'name'>): number;
  /** Its time is over: it ends itself, and those below that have not been cancelled are. */
  isOver?: boolean;
  /** Those below that have not been cancelled are; the run itself, which cleans up, goes on. */
  isBelow?: boolean;
  /** It comes by itself: where the run has been cancelled meanwhile, nothing happens. */
  isFirst?: boolean;
  /** What the run itself ends as; those below are cancelled. Default `cancelled`. */
  status?: Cancel['status'];
}

export function readCancel({ cancel }: Pick<RunRow, 'cancel'>): Cancel | undefined {
  return cancel === null ? undefined : (JSON.parse(cancel) as Cancel);
}
