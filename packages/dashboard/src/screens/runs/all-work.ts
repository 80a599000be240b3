export interface Refusal {
  runId: string;
  code: string;
  message: string;
}

/** What one request has done. */
export interface BulkAnswer {
  matched: number;
  done: number;
  failed: readonly Refusal[];
  nextCursor: string | null;
}

export interface WorkState {
  isBusy: boolean;
  /** All of them were gone through. */
  isAll: boolean;
  done: number;
  refused: number;
  /** The first of those that were refused. */
  failed: readonly Refusal[];
  error: unknown;
  /** As many as it was, and as it is since, where they became more before anything was done. */
  grown: { from: number; to: number } | undefined;
}

export interface WorkParts {
  ask(how: { dryRun: true } | { cursor?: string }): Promise<BulkAnswer>;
  show(state: WorkState): void;
  /** Called once it has stopped, where whoever asked has gone after it had begun. */
  say(state: WorkState): void;
}

export interface Work {
  /** Begins, or goes on where it was stopped by an error. `agreed`: so many runs were said to be meant. */
  go(agreed: number): Promise<void>;
  /** Answers what stops it after the request that is under way. */
  enter(): () => void;
}

export const NOTHING: WorkState = {
  isBusy: false,
  isAll: false,
  done: 0,
  refused: 0,
  failed: [],
  error: undefined,
  grown: undefined,
};

/** Refusals that are kept, to be shown one by one. */
const LISTED = 20;

/**
 * One request after the other until none is left. Runs that were not over when they were counted may be since: the first time
 * it says so, and does nothing.
 */
export function createWork({ ask, show, say }: WorkParts): Work {
  let state = NOTHING;
  let cursor: string | undefined;
  let hasBegun = false;
  let isLeft = false;
  const become = (change: Partial<WorkState>): void => {
    state = { ...state, ...change };
    if (!isLeft) show(state);
  };
  const isMore = async (agreed: number): Promise<boolean> => {
    if (hasBegun || state.grown) return false;
    const { matched } = await ask({ dryRun: true });
    if (matched <= agreed) return false;
    become({ grown: { from: agreed, to: matched } });
    return true;
  };
  const isOver = (): boolean => state.isAll || isLeft;
  const doRest = async (): Promise<void> => {
    while (!isOver()) {
      hasBegun = true;
      const { done, failed, nextCursor } = await ask(cursor === undefined ? {} : { cursor });
      cursor = nextCursor ?? undefined;
      become({
        isAll: nextCursor === null,
        done: state.done + done,
        refused: state.refused + failed.length,
        failed: [...state.failed, ...failed.slice(0, LISTED - state.failed.length)],
      });
    }
  };
  return {
    async go(agreed) {
      if (state.isBusy) return;
      become({ isBusy: true, error: undefined });
      try {
        if (!(await isMore(agreed))) await doRest();
      } catch (error) {
        become({ error });
      }
      become({ isBusy: false });
      if (isLeft && hasBegun) say(state);
    },
    enter() {
      isLeft = false;
      return () => {
        isLeft = true;
      };
    },
  };
}
