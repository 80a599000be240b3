import type { ArgDef } from 'citty';
import type { Names } from './names.ts';

/** What a flag or an argument takes, as far as it can be known here. */
export interface Values {
  words: readonly string[];
  /** Several of them may be given with commas between. */
  isList?: true;
  /** A path is meant, too or instead. */
  paths?: 'files' | 'folders';
}

interface Where {
  /** The words of the verb. */
  path: string;
  names(): Names;
}

export function findValues(name: string, def: ArgDef, { path, names }: Where): Values {
  if (def.type === 'enum') return { words: def.options ?? [] };
  const paths = findPaths(name, def, path);
  if (paths) return { words: [], paths };
  if (path === 'complete') return { words: ['bash', 'zsh', 'fish'] };
  if (path === 'keys create' && name === 'agents') return { words: [...names().agents, 'all'], isList: true };
  if (path === 'keys create' && name === 'workflows') return { words: [...names().workflows, 'all'], isList: true };
  if (name === 'agent-name') return { words: names().agents };
  if (name === 'workflow' || (name === 'name' && path.startsWith('workflows '))) return { words: names().workflows };
  if (name === 'calls' || name === 'owner-name' || (name === 'name' && /^(runs|logs) /.test(path)))
    return { words: [...names().agents, ...names().workflows] };
  return { words: [] };
}

// --- internal ---

const FOLDERS = ['dir', 'out-dir'];
const FILE_HINTS = ['path', 'tar', 'file.test.ts'];

function findPaths(name: string, def: ArgDef, path: string): Values['paths'] {
  if (FOLDERS.includes(name) || (name === 'out' && /^(build|start)$/.test(path))) return 'folders';
  const hint = 'valueHint' in def ? def.valueHint : undefined;
  if (FILE_HINTS.includes(hint ?? '') || (path === 'replay' && name === 'run')) return 'files';
  return undefined;
}
