import type { Position } from './ast.ts';
import type { ProblemCode } from './problem-codes.ts';

/** A problem without its file and frame: what the reading of one file can say. */
export interface Finding extends Position {
  code: ProblemCode;
  message: string;
}
