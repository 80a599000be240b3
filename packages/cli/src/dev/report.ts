import { addPlace } from '@svc/compiler';
import type { Problem } from '@svc/runtime/host';
import { formatProblem } from '../terminal/format.ts';
import { countOf } from '../workspace/workspace.ts';
import { isFirst } from './banner.ts';

/** What is wrong in a workspace, as a person at the terminal hears of it: each problem once, and that it is gone. */
export interface Report {
  /** Says what is new of these, and which of those said before are gone. */
  show(problems: readonly Problem[]): void;
  /** Says in one line what is left of earlier edits, where there is any. */
  remind(): void;
}

export interface ReportOptions {
  root: string;
  say(line: string): void;
}

export function createReport({ root, say }: ReportOptions): Report {
  let shown = new Map<string, Problem>();
  // Of them, those that were printed with their frame since the last reminder.
  let fresh = new Set<string>();
  return {
    show(problems) {
      const before = shown;
      const all = problems.map((one) => addPlace(root, one)).filter(isFirst);
      const keyOf = createKeys();
      const keyed = all.map((one) => [keyOf(one), one] as const);
      shown = new Map(keyed);
      const gone = [...before].filter(([key]) => !shown.has(key));
      // One that moved, or whose lines were edited and still are wrong, is shown as it is now.
      const changed = keyed.filter(([key, one]) => {
        const last = before.get(key);
        return !last || formatProblem(last) !== formatProblem(one);
      });
      fresh = new Set([...fresh, ...changed.map(([key]) => key)]);
      if (gone.length > 0) say(`no longer wrong: ${gone.map(([, one]) => nameOf(one)).join(', ')}`);
      if (changed.length > 0) say(changed.map(([, one]) => formatProblem(one)).join('\n'));
    },
    remind() {
      const left = [...shown].filter(([key]) => !fresh.has(key)).map(([, one]) => one);
      fresh = new Set();
      if (left.length === 0) return;
      const places = left.slice(0, MOST).map(({ file, line, column, code }) => `${file}:${line}:${column} ${code}`);
      const more = left.length > MOST ? ` and ${left.length - MOST} more` : '';
      say(`${countOf(left.length, 'problem')} from before: ${places.join(', ')}${more}`);
    },
  };
}

// --- internal ---

/** As many as a line holds. */
const MOST = 5;

/** An edit above a problem moves it, and it is the same. Of several with one message in a file each is counted. */
function createKeys(): (problem: Problem) => string {
  const counts = new Map<string, number>();
  return ({ file, message }) => {
    const text = `${file}\n${message}`;
    const count = (counts.get(text) ?? 0) + 1;
    counts.set(text, count);
    return `${text}\n${count}`;
  };
}

function nameOf({ file, code }: Problem): string {
  return `${file} (${code})`;
}
