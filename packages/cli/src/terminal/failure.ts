import type { Problem } from '@svc/runtime/host';
import { cutLongWords } from '../errors.ts';
import type { CliError } from '../errors.ts';
import { formatPath, formatProblem } from './format.ts';
import { toPlainText } from './style.ts';
import type { Style } from './style.ts';
import { wrapText } from './wrap.ts';

/** A failure for a person: what happened, each place or member it is about, and what to do. */
export function formatFailure(error: CliError, style: Style): string {
  const lines = [
    `${style.red('error:')} ${wrapText(toPlainText(error.message), { ...style, taken: 'error: '.length })}`,
    ...listIssues(error.details).map((issue) => wrapText(`  ${toPlainText(issue)}`, style)),
    ...listProblems(error.details).map((problem) => `\n${wrapText(toPlainText(formatProblem(problem)), style)}\n`),
    `${style.bold('help:')} ${wrapText(toPlainText(error.suggestion), { ...style, taken: 'help: '.length })}`,
  ];
  if (error.requestId) lines.push(style.dim(`request id: ${toPlainText(error.requestId)}`));
  return lines.join('\n');
}

/** The same in one line, for a log. */
export function formatReason(error: CliError): string {
  const issues = listIssues(error.details);
  const text = issues.length > 0 ? `${error.message} ${issues.join('; ')}` : error.message;
  return toPlainText(text).replaceAll(/\s+/g, ' ').trim();
}

// --- internal ---

/** `details.issues` as the box writes them: `[{path, message}]`. */
function listIssues(details: Record<string, unknown>): string[] {
  if (!Array.isArray(details.issues)) return [];
  return details.issues.map((issue: { path?: unknown; message?: unknown }) => {
    const path = Array.isArray(issue?.path) ? issue.path : [];
    return cutLongWords(`${formatPath(path)}: ${String(issue?.message ?? 'is not valid')}`);
  });
}

/** `details.problems`: what is wrong in an author's files. */
function listProblems(details: Record<string, unknown>): Problem[] {
  return Array.isArray(details.problems) ? (details.problems as Problem[]) : [];
}
