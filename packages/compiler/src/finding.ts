import type { Position } from './ast.ts';

/** A problem without its file and frame: what the reading of one file can say. */
export interface Finding extends Position {
  /** Stable; a message may change. */
  code: string;
  message: string;
}
