import type { StepContext } from './context.ts';
import type { JournalRecord } from './journal/record.ts';
import type { Durability } from './journal/run.ts';
import type { CodeRegistry } from './values/registry.ts';

/** What a run executes: an author's workflow function, or the turn of an agent. */
export interface Body {
  run(input: unknown): Promise<unknown>;
  /** Called once the run is this process's own, before its body runs. Outside of the body it may take its time. */
  prepare?(records: readonly JournalRecord[]): Promise<void>;
  /** The input of a next run of it, as that will get it. Throws what a start with it would. Absent: any input is taken as it is. */
  check?(input: unknown): Promise<unknown>;
  /** What its run publishes, as it is shown. Throws what it may not be. Absent: it is anything. */
  checkState?(state: unknown): unknown;
  codeHash: string;
  /** What its code has made known by name, where that is not the code there is now. */
  registry?: CodeRegistry | undefined;
  /** Of code that is not the newest: the newest, which a next run of it begins with. */
  newest?(): Promise<Body>;
  durability: Durability;
  /** Asked when the run is found in the journal, not started here: an error ends it as cancelled instead. */
  whenFound?(records: readonly JournalRecord[]): Error | undefined;
}

/** Does an attempt of a step by calling `run`, or does not. */
export type AroundStep = (attempt: StepContext, run: () => unknown) => unknown;
