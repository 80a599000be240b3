import { join } from 'node:path';
import type { Problem } from '@svc/runtime/host';
import { findText } from '../files.ts';
import type { Finding } from '../finding.ts';

export interface FoundIn extends Finding {
  file: string;
}

/** Adds the source around each place. */
export async function toProblems(root: string, found: FoundIn[]): Promise<Problem[]> {
  if (found.length === 0) return [];
  const { codeFrameColumns } = await import('@babel/code-frame');
  return found.map(({ code, message, file, line, column }) => {
    const text = findText(join(root, file)) ?? '';
    const frame = codeFrameColumns(text, { start: { line, column } }, { highlightCode: false, linesAbove: 2 });
    return { code, message, file, line, column, frame };
  });
}
