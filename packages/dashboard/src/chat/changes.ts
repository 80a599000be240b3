import type { Path } from '../form/path.ts';
import { isRecord } from '../form/path.ts';

/** A place that is another in one value than in the other. Absent: it is not there. */
export interface Change {
  path: Path;
  before?: { value: unknown };
  after?: { value: unknown };
}

/** What is another in the second of two JSON values, place by place: the first 50. */
export function listChanges(before: unknown, after: unknown): Change[] {
  const changes: Change[] = [];
  compare({ path: [], before: { value: before }, after: { value: after } }, changes);
  return changes;
}

/** A value in one line. */
export function toBrief(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text;
}

export const MOST_CHANGES = 50;

// --- internal ---

const MOST_TEXT = 120;
const MOST_DEPTH = 64;

function compare({ path, before, after }: Change, changes: Change[]): void {
  if (changes.length >= MOST_CHANGES) return;
  if (before && after) {
    const [one, two] = [before.value, after.value];
    if (one === two) return;
    if (path.length < MOST_DEPTH && isRecord(one) && isRecord(two)) {
      for (const key of new Set([...Object.keys(one), ...Object.keys(two)]))
        compare({ path: [...path, key], ...sidesOf(one, two, key) }, changes);
      return;
    }
    if (path.length < MOST_DEPTH && Array.isArray(one) && Array.isArray(two)) {
      for (let at = 0; at < Math.max(one.length, two.length) && changes.length < MOST_CHANGES; at++)
        compare({ path: [...path, at], ...sidesOf(one, two, at) }, changes);
      return;
    }
  }
  changes.push({ path, ...(before ? { before } : {}), ...(after ? { after } : {}) });
}

function sidesOf(before: object, after: object, key: string | number): Pick<Change, 'before' | 'after'> {
  const sideOf = (of: object) =>
    Object.hasOwn(of, key) ? { value: (of as Record<string | number, unknown>)[key] } : undefined;
  const [one, two] = [sideOf(before), sideOf(after)];
  return { ...(one ? { before: one } : {}), ...(two ? { after: two } : {}) };
}
