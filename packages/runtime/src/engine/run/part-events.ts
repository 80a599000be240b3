import type { AppendResult } from '../journal/appends.ts';
import type { Mismatch } from '../mismatch.ts';

/** What the parts of an execution call it with. One object for all of them: it is made for every run. */
export interface PartEvents {
  /** There is something to do. */
  onChange(): void;
  /** The code asks for something else than is recorded. */
  onMismatch(mismatch: Mismatch): void;
  onAppended(result: AppendResult): void;
  onFailed(error: unknown): void;
  /** The body threw where nothing could catch it. */
  onCrash(error: unknown): void;
  /** Nothing is recorded any more: the run has left this process. */
  hasLeft(): boolean;
}
