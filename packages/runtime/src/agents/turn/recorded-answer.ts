import type { HeldBy } from '../../approvals/held-text.ts';

/** What the model reads as the answer of a tool. */
export interface ToolAnswer {
  content: string;
  isError: boolean;
  /** The approval that was rejected, for which the call was not run. Absent: there is none. */
  rejected?: string;
}

/** As it is recorded. `held`: what the tool has answered, which a guardrail holds; the rest stands for it. */
export interface RecordedAnswer extends ToolAnswer {
  held?: HeldBy & ToolAnswer;
  /**
   * No rule is asked about it: `box`, the words are those of the box or of a tool about its own state; `decision`, it has been
   * held, and is what was decided about it. Absent: a tool gave it.
   */
  by?: 'box' | 'decision';
}
