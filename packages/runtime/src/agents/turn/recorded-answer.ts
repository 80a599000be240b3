import type { HeldBy } from '../../approvals/held-text.ts';

/** What the model reads as the answer of a tool. */
export interface ToolAnswer {
  content: string;
  isError: boolean;
}

/** As it is recorded. `held`: what the tool has answered, which a guardrail holds; the rest stands for it. */
export interface RecordedAnswer extends ToolAnswer {
  held?: HeldBy & ToolAnswer;
}
