import type { ArgDef } from 'citty';
import type { Completion } from '../verb.ts';
import type { Names } from './names.ts';

/** What a flag or an argument takes, as far as it can be known here. */
export interface Values extends Pick<Completion, 'isList' | 'paths'> {
  words: readonly string[];
}

export interface Known {
  /** What the verb says of its flags and arguments. */
  completes: Record<string, Completion> | undefined;
  /** The names of the workspace. */
  names(): Names;
}

export function findValues(name: string, def: ArgDef, { completes, names }: Known): Values {
  if (def.type === 'enum') return { words: def.options ?? [] };
  const { names: kinds = [], words = [], ...more } = completes?.[name] ?? USUAL[name] ?? guess(def);
  return { ...more, words: [...kinds.flatMap((kind) => names()[kind]), ...words] };
}

// --- internal ---

/** What means the same with every verb that takes it. */
const USUAL: Record<string, Completion | undefined> = {
  dir: { paths: 'folders' },
  'out-dir': { paths: 'folders' },
  'agent-name': { names: ['agents'] },
  workflow: { names: ['workflows'] },
  'owner-name': { names: ['agents', 'workflows'] },
};

const FILE_HINTS = ['path', 'tar', 'file.test.ts'];

function guess(def: ArgDef): Completion {
  const hint = 'valueHint' in def ? def.valueHint : undefined;
  return FILE_HINTS.includes(hint ?? '') ? { paths: 'files' } : {};
}
