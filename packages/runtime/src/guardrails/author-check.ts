import type { Side } from './store.ts';

/** What a check of the workspace's own is asked about. */
export interface CheckSubject {
  /** Of a value each text of it, in a line of its own: names of members, texts and numbers. */
  text: string;
  /** The value, where it is no text: arguments of a call, what a tool or an agent answers, the input of a workflow. A copy. */
  value?: unknown;
  side: Side;
  /** Whose text it is; of a sub-agent `parent/name`. Null: a workflow's. */
  agent: string | null;
  workflow: string | null;
  /** The tool, where it is about a call or its result. */
  tool: string | null;
  /** Aborts when the check has had its time. */
  signal: AbortSignal;
}

/** A place in the text that was found. `label` is what is there in place of it, in brackets. Default `found`. */
export interface CheckPlace {
  start: number;
  end: number;
  label?: string;
}

/** Places, or why all of it is a hit, in words that do not quote it. An empty list, or nothing: it passes. */
// oxlint-disable-next-line typescript/no-invalid-void-type
export type CheckAnswer = readonly CheckPlace[] | string | { reason: string } | false | null | undefined | void;

export type OwnCheck = (subject: CheckSubject) => CheckAnswer | Promise<CheckAnswer>;
