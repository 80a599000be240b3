import { join } from 'node:path';
import type { Problem } from '@svc/runtime/host';
import { findText } from '../files.ts';
import { frameOf } from '../code-frame.ts';

/** Of most exports that are not usable the runtime knows the file alone: adds the line that exports them, and its frame. */
export function addPlace(root: string, problem: Problem): Problem {
  if (problem.frame !== '') return problem;
  if (problem.line > 1 || problem.column > 1) return { ...problem, frame: frameOf(root, problem) };
  const place = findExport(findText(join(root, problem.file)) ?? '', problem) ?? problem;
  return { ...problem, ...place, frame: frameOf(root, { ...problem, ...place }) };
}

// --- internal ---

const DEFAULT = /^export default\b|^export \{.*\bas default\b/;

function findExport(text: string, { message }: Problem): { line: number; column: number } | undefined {
  const named = /^"(\w+)" of "/.exec(message)?.[1];
  const pattern = named ? new RegExp(`^export (?:const|let|var) ${named}\\b`) : DEFAULT;
  const index = text.split('\n').findIndex((line) => pattern.test(line));
  return index === -1 ? undefined : { line: index + 1, column: 1 };
}
