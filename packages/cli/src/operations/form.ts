import type { ArgsDef } from 'citty';
import type { Context } from '../context.ts';
import type { Style } from '../terminal/style.ts';
import type { Completion } from '../verb.ts';
import type { Row } from './row.ts';
import type { StreamForm } from './stream.ts';

/** A verb that calls an operation of the box. What is not said here is as the operation says it. */
export interface OperationVerb extends OperationForm {
  summary: string;
  /** The id of its operation. */
  operation: string;
  /** Of a list: the columns a person sees, in the notation of columns.ts. Default: the first plain members. */
  columns?: readonly string[];
  /** Of a list: what it holds, in the plural. Default: the first word of the operation. */
  items?: string;
  /** More of the form, of a verb for which code of its own has to be loaded. */
  form?(): Promise<OperationForm>;
}

/** What a verb does in another way than its operation says. */
export interface OperationForm {
  /** Two commands that work as written; without them they are made up. */
  examples?: readonly [string, string];
  /** Members that are arguments, after those of the path. */
  positionals?: readonly string[];
  /** Members that say which of several verbs of one operation this is. */
  fixed?: Record<string, unknown>;
  /** Flags of its own, and what reads the members they stand for. */
  flags?: ArgsDef;
  replaces?: readonly string[];
  /** `text` as it was typed, where a flag means what it says even when it is empty. */
  mayBeEmpty?: readonly string[];
  completes?: Record<string, Completion>;
  read?(args: Record<string, unknown>, context: Context): Promise<Row>;
  /** The answer is under this name: it has members that the document has too. */
  wrap?: string;
  /** False: the operation asks before it is called by a model alone. */
  asks?: false;
  human?(answer: Row, style: Style): string;
  /** A word for what was done: `Cancelled`. With it the answer is one line, and `subject` says of what. */
  done?: string;
  subject?(answer: Row): string;
  hint?(answer: Row): string | undefined;
  /** What the command ends with, where the answer is no success: with `human`, which says so. Default 0. */
  exitCode?(answer: Row): number;
  stream?: StreamForm;
}
