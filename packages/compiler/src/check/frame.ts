import type { Problem } from '@svc/runtime/host';
import { frameOf } from '../code-frame.ts';
import type { Finding } from '../finding.ts';

export interface FoundIn extends Finding {
  file: string;
}

/** Adds the source around each place. */
export function toProblems(root: string, found: FoundIn[]): Problem[] {
  return found.map(({ code, message, file, line, column }) => {
    const frame = frameOf(root, { file, line, column });
    return { code, message, file, line, column, frame };
  });
}
