import { readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import type { Problem } from '@svc/runtime/host';

/** What a parser or Vite adds to an error. */
interface LoadError extends Error {
  id?: string;
  loc?: { file?: string; line: number; column: number };
  frame?: string;
}

/** Where in the workspace a module failed to load: a syntax error by its place, a thrown one by its stack. */
export function toProblem(thrown: unknown, { root, file }: { root: string; file: string }): Problem {
  const error = (thrown instanceof Error ? thrown : new Error(String(thrown))) as LoadError;
  const place = placeOfSyntax(error, root, file) ?? placeOfStack(error, root) ?? { file, line: 1, column: 1 };
  return {
    code: error.loc ? 'syntax_error' : 'module_load_failed',
    message: firstLine(error.message) || 'The module does not load.',
    ...place,
    frame: frameOf(root, place),
  };
}

// --- internal ---

interface Place {
  file: string;
  line: number;
  column: number;
}

function placeOfSyntax(error: LoadError, root: string, file: string): Place | undefined {
  if (!error.loc) return undefined;
  const path = error.loc.file ?? error.id;
  return {
    file: path ? toPosix(relative(root, path.split('?')[0] ?? path)) : file,
    line: error.loc.line,
    column: error.loc.column + 1,
  };
}

function placeOfStack(error: Error, root: string): Place | undefined {
  for (const line of error.stack?.split('\n') ?? []) {
    const match = /(?:\(|at )(?:file:\/\/)?([^():]+):(\d+):(\d+)\)?$/.exec(line.trim());
    if (!match?.[1]?.startsWith(root + sep) || match[1].includes(`${sep}node_modules${sep}`)) continue;
    return { file: toPosix(relative(root, match[1])), line: Number(match[2]), column: Number(match[3]) };
  }
  return undefined;
}

function frameOf(root: string, { file, line, column }: Place): string {
  let lines: string[];
  try {
    lines = readFileSync(join(root, file), 'utf8').split('\n');
  } catch {
    return '';
  }
  const first = Math.max(1, line - 2);
  const shown = lines.slice(first - 1, line + 2);
  const width = String(first + shown.length).length;
  return shown
    .flatMap((text, index) => {
      const number = first + index;
      const row = `${number === line ? '>' : ' '} ${String(number).padStart(width)} | ${text}`;
      return number === line ? [row, `  ${' '.repeat(width)} | ${' '.repeat(Math.max(0, column - 1))}^`] : [row];
    })
    .join('\n');
}

function firstLine(text: string): string {
  return text.split('\n')[0]?.trim() ?? '';
}

function toPosix(path: string): string {
  return path.split(sep).join('/');
}
