import { keyOf, readAt, startsWith, writeAt } from './path.ts';
import type { Path } from './path.ts';

/** What is being written: the value, and texts of fields that are no value yet. */
export interface FormState {
  value: unknown;
  /** By field. While there is one nothing can be sent. */
  drafts: ReadonlyMap<string, Draft>;
}

export interface Draft {
  path: Path;
  text: string;
  message: string;
}

export type FormAction =
  | { type: 'replace'; value: unknown }
  | { type: 'set'; path: Path; value: unknown }
  | { type: 'draft'; path: Path; text: string; message: string }
  | { type: 'add'; path: Path; value: unknown }
  | { type: 'remove'; path: Path; at: number }
  | { type: 'move'; path: Path; at: number; by: 1 | -1 };

export function startForm(value: unknown): FormState {
  return { value, drafts: new Map() };
}

export function changeForm(state: FormState, action: FormAction): FormState {
  switch (action.type) {
    case 'replace':
      return startForm(action.value);
    case 'set':
      return { value: writeAt(state.value, action.path, action.value), drafts: without(state.drafts, action.path) };
    case 'draft': {
      const { path, text, message } = action;
      const drafts = new Map(without(state.drafts, path));
      drafts.set(keyOf(path), { path, text, message });
      return { ...state, drafts };
    }
    case 'add':
      return changeList(state, action.path, (list) => [...list, action.value]);
    case 'remove':
      return changeList(state, action.path, (list) => list.filter((_, at) => at !== action.at));
    case 'move':
      return changeList(state, action.path, (list) => swap(list, action.at, action.at + action.by));
  }
}

export type Read = { value: unknown } | { message: string };

/** Empty is no number, and so no value. */
export function readNumber(text: string): Read {
  const given = text.trim();
  if (given === '') return { value: undefined };
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(given)) return { message: 'Expected a number.' };
  const value = Number(given);
  if (!Number.isFinite(value)) return { message: 'The number is too large.' };
  if (Number.isInteger(value) && !Number.isSafeInteger(value) && /^[+-]?\d+$/.test(given))
    return { message: 'The number has more digits than it can keep.' };
  return { value };
}

/** Empty is no value. */
export function readJson(text: string): Read {
  if (text.trim() === '') return { value: undefined };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { message: `This is not JSON: ${(error as Error).message}` };
  }
}

/** A value as a person edits it as JSON. Undefined: it is nested too deep to be written. */
export function writeJson(value: unknown): string | undefined {
  if (value === undefined) return '';
  try {
    return JSON.stringify(value, null, 2);
  } catch {
    return undefined;
  }
}

// --- internal ---

function changeList(state: FormState, path: Path, change: (list: unknown[]) => unknown[]): FormState {
  const list = readAt(state.value, path);
  const next = change(Array.isArray(list) ? (list as unknown[]) : []);
  return { value: writeAt(state.value, path, next), drafts: without(state.drafts, path) };
}

function swap(list: unknown[], one: number, two: number): unknown[] {
  if (two < 0 || two >= list.length) return list;
  return list.map((item, at) => (at === one ? list[two] : at === two ? list[one] : item));
}

/** The drafts that are neither at the path nor below it. */
function without(drafts: FormState['drafts'], path: Path): FormState['drafts'] {
  return new Map([...drafts].filter(([, draft]) => !startsWith(draft.path, path)));
}
