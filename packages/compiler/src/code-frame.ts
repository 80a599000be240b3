import { join } from 'node:path';
import type { Problem } from '@svc/runtime/host';
import { findText } from './files.ts';

/** The source around a place, without colour; a mark below the line says where. */
export function frameOf(root: string, { file, line, column }: Pick<Problem, 'file' | 'line' | 'column'>): string {
  const lines = readLines(join(root, file));
  const first = Math.max(1, line - LINES_ABOVE);
  const shown = lines.slice(first - 1, line + LINES_BELOW);
  const width = String(first + shown.length - 1).length;
  return shown
    .flatMap((text, index) => {
      const number = first + index;
      const row = `${number === line ? '>' : ' '} ${String(number).padStart(width)} | ${text}`.trimEnd();
      return number === line ? [row, `  ${' '.repeat(width)} | ${toGap(text, column)}^`] : [row];
    })
    .join('\n');
}

// --- internal ---

const LINES_ABOVE = 2;
const LINES_BELOW = 3;

/** A place may be that of a folder, or of a file that went. */
function readLines(path: string): string[] {
  try {
    return (findText(path) ?? '').split(/\r?\n/);
  } catch {
    return [''];
  }
}

/** As wide as what comes before the column: a tab stays one. */
function toGap(text: string, column: number): string {
  return text
    .slice(0, Math.max(0, column - 1))
    .replaceAll(/[^\t]/g, ' ')
    .padEnd(Math.max(0, column - 1));
}
